"""`manage.py task`."""

from typing import Any

import pytest

from tasks_app.domain.statuses import TaskStatus
from tests.factories import AgentFactory, DecisionFactory, MessageFactory, RunFactory, TaskFactory, TeamFactory
from tests.management.commands import run, run_json

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Any:
    return TeamFactory(slug="billing", name="Billing")


def test_a_task_is_shown_by_its_label(team: Any) -> None:
    TaskFactory(team=team, number=1, title="Schema")
    code, out, _ = run("task", "Billing", "t-1")
    assert (code, out.splitlines()[0]) == (0, "T-1 Schema")
    assert run_json("task", "billing", "1")[1]["id"] == "T-1"


def test_it_is_completed_reopened_and_cancelled(team: Any) -> None:
    task = TaskFactory(team=team, number=1)
    for option, status in (
        ("--complete", TaskStatus.COMPLETED),
        ("--reopen", TaskStatus.PENDING),
        ("--cancel", TaskStatus.CANCELLED),
    ):
        code, _, err = run("task", "billing", "T-1", option, "--note", "because")
        assert (code, err) == (0, "")
        task.refresh_from_db()
        assert task.status == status.value


def test_who_completes_by_hand_is_told_what_nobody_has_shown(team: Any) -> None:
    for number in (1, 2):
        TaskFactory(team=team, number=number, criteria=["Tests pass"])
    code, out, err = run("task", "billing", "T-1", "--complete", "--note", "seen")
    assert (code, err) == (0, "")
    assert "Not shown, taken as met on your word: 1. Tests pass: no evidence was given" in out
    found = run_json("task", "billing", "T-2", "--complete")[1]
    assert [one.startswith("1. Tests pass") for one in found["taken_as_met"]] == [True]


def test_it_is_reassigned_with_guidance(team: Any) -> None:
    AgentFactory(team=team, name="ada")
    task = TaskFactory(team=team, number=1, gave_up=True)
    code, _, err = run("task", "billing", "T-1", "--reassign", "Ada", "--guidance", "Read first.", "--start", "last")
    assert (code, err) == (0, "")
    attempt = task.runs.get()
    assert (attempt.agent.name, attempt.guidance, attempt.start_from) == ("ada", "Read first.", "last")


def test_a_task_is_added_changed_and_freed_of_what_it_waits_for(team: Any) -> None:
    AgentFactory(team=team, name="ada", role="builder")
    TaskFactory(team=team, number=1, in_progress=True)
    type(team).objects.update(last_task_number=1)
    words = ("add", "--title", "Fix things", "--criterion", "check: pytest -q", "--depends-on", "T-1", "--minutes", "5-20")
    code, out, err = run("task", "billing", *words)
    assert (code, err) == (0, "")
    assert out.startswith("T-2 Fix things\nPENDING – blocked by T-1")
    assert "Could be written better, title: “Fix things” could be any task." in out
    code, out, err = run("task", "billing", "T-2", "--title", "Export bills", "--assignee", "ada", "--unblock", "T-1")
    assert (code, err) == (0, "")
    task = team.tasks.get(number=2)
    assert (task.title, task.assignee.name, task.criteria, task.dependencies.count()) == (
        "Export bills",
        "ada",
        [{"check": "pytest -q"}],
        0,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "--title", "X"], "at least one acceptance criterion"),
        (["add", "--criterion", "A"], "The title is empty"),
        (["T-1", "--minutes", "soon"], "such as 5-30"),
        (["T-1", "--unblock", "T-2"], "T-1 does not depend on T-2"),
        (["T-2", "--depends-on", "T-2"], "T-2 → T-2"),
        (["T-1", "--depends-on", "T-2"], ""),
        (["T-3", "--title", "Late"], "is in progress"),
    ],
)
def test_a_change_that_cannot_be_made_is_said(team: Any, words: list[str], said: str) -> None:
    for number in (1, 2):
        TaskFactory(team=team, number=number)
    TaskFactory(team=team, number=3, in_progress=True)
    code, _, err = run("task", "billing", *words)
    assert (code, said in err) == (2 if said else 0, True), err


def test_a_running_attempt_is_asked_to_stop(team: Any) -> None:
    attempt = RunFactory(task=TaskFactory(team=team, number=1, in_progress=True))
    assert run("task", "billing", "T-1", "--stop")[0] == 0
    attempt.refresh_from_db()
    assert attempt.stop_asked_by == "lead"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope", "T-1"], "Did you mean"),
        (["billing", "T-9"], "It has T-1 to T-1"),
        (["billing", "banana"], "no task"),
        (["billing", "T-1", "--stop"], "no attempt that could be stopped"),
        (["billing", "T-1", "--cancel", "--complete"], "do not go together"),
        (["billing", "T-1", "--reassign", "zoe"], "There are: ada"),
    ],
)
def test_what_cannot_be_done_is_said_and_ends_with_two(team: Any, words: list[str], said: str) -> None:
    AgentFactory(team=team, name="ada")
    TaskFactory(team=team, number=1)
    if words[0] == "nope":
        words = ["bling", *words[1:]]
    code, _, err = run("task", *words)
    assert code == 2
    assert said in err


def test_what_the_next_attempt_will_be_told_is_shown_and_ones_words_stand_in_it(team: Any) -> None:
    task = TaskFactory(team=team, number=1, title="Schema")
    code, out, err = run("task", "billing", "1", "--tell", "Use \x1b[31mSQLite.", "--handover")
    assert (code, err) == (0, "")
    assert "# Your task: T-1 Schema" in out
    assert "## Guidance of the lead\nUse SQLite." in out
    assert run_json("task", "billing", "1", "--handover")[1]["attempt"] == 1
    type(task).objects.update(status=TaskStatus.IN_PROGRESS.value)
    code, _, err = run("task", "billing", "1", "--tell", "Late.")
    assert code != 0
    assert "has begun" in err


def test_a_task_under_review_is_shown_as_such(team: Any) -> None:
    run_ = RunFactory(task__team=team, task__number=1, agent__team=team, agent__name="ada")
    DecisionFactory(run=run_, kind="review", title="ada asks for a review: T-1 Build")
    assert "IN REVIEW – ada waits for you" in run("task", "billing", "1")[1]


def test_a_cost_that_nobody_has_told_is_not_said_to_be_zero(team: Any) -> None:
    RunFactory(task=TaskFactory(team=team, number=1, budget_usd=2), budget_usd=1)
    out = run("task", "billing", "T-1")[1]
    assert "budget: $2.00, cost not reported" in out
    assert "budget: $1.00, cost not reported" in out


def test_a_task_is_shown_as_on_its_page(team: Any) -> None:
    ada = AgentFactory(team=team, name="ada")
    schema = TaskFactory(team=team, number=1, title="Schema", done=True)
    task = TaskFactory(
        team=team, number=2, title="API", in_progress=True, attempts=1, needs=[schema], criteria=["It answers", "It is quick"]
    )
    TaskFactory(team=team, number=3, title="Page", needs=[task])
    type(task).objects.filter(pk=task.pk).update(evidence={"1": "Seen it answer."}, output="Half of it.")
    failed = {"detail": "The provider said 401.", "cost_usd": "0.42", "worked_s": 247, "input_tokens": 41_000}
    old = RunFactory(task=task, agent=ada, attempt=1, failed=True, **failed)
    MessageFactory(team=team, recipient=ada, body="Mind the port.", delivered_run=old.pk)
    going = RunFactory(task=task, agent=ada, attempt=2)
    ask = DecisionFactory(run=going, kind="question")
    out = run("task", "billing", "T-2")[1]
    for words in (
        "attempts: 2 of 3 allowed, 1 failed",
        "✓ 1. It answers: Seen it answer.",
        "· 2. It is quick",
        "T-1 Schema (completed)",
        "T-3 Page",
        "1. ada: failed, The agent gave it back · 4 min 7 s working",
        "The provider said 401.",
        "$0.42",
        "Half of it.",
        "Mind the port.",
        f"uv run manage.py decide {ask.pk} --pick",
    ):
        assert words in out, words
    found = run_json("task", "billing", "T-2")[1]
    assert [(one["text"], one["met"]) for one in found["criteria"]] == [("It answers", True), ("It is quick", None)]
    assert [(one["attempt"], one["status"], one["reason"]) for one in found["runs"]] == [
        (1, "failed", "reported"),
        (2, "running", None),
    ]
    assert (found["decision"]["id"], found["depends_on"][0]["id"], found["unblocks"]) == (ask.pk, "T-1", ["T-3"])
    assert [one["message"] for one in found["messages"]] == ["Mind the port."]
