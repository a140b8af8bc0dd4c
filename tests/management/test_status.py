"""`team status`: the tree of tasks in the words of the terminal, and the agents."""

from typing import Any

import pytest
from django.utils import timezone
from rich.console import Console

from tasks_app.domain.statuses import DecisionKind
from tasks_app.management import status
from tests.factories import AgentFactory, DecisionFactory, RunFactory, TaskFactory, TeamFactory, ago

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Any:
    team = TeamFactory(name="Billing", slug="billing", rehearsal=True, budget_usd=5)
    ada = AgentFactory(team=team, name="ada", context_tokens=162_000, context_window=200_000)
    ben = AgentFactory(team=team, name="ben")
    AgentFactory(team=team, name="cleo")
    schema = TaskFactory(team=team, number=1, title="Schema", done=True, completed_by="ada")
    api = TaskFactory(team=team, number=2, title="Payment API", in_progress=True)
    TaskFactory(team=team, number=3, title="Tests", needs=[schema, api])
    page = TaskFactory(team=team, number=4, title="Page", in_progress=True)
    TaskFactory(team=team, number=5, title="Docs", gave_up=True)
    RunFactory(task=api, agent=ada, started_at=ago(minutes=4, seconds=7))
    slow = RunFactory(task=page, agent=ben, started_at=ago(minutes=95))
    DecisionFactory(run=slow, kind=DecisionKind.PLAN.value, title="ben proposes a plan")
    return team


def text(team: Any, width: int = 160) -> str:
    console = Console(width=width, soft_wrap=True, record=True, file=open("/dev/null", "w"))  # noqa: SIM115 - written to nowhere
    console.print(status.as_text(status.read(team.pk, timezone.now())))
    return console.export_text()


def test_the_tree_says_who_did_what_and_what_blocks(team: Any) -> None:
    lines = [line.strip("│├└─ ") for line in text(team).splitlines()]
    assert "T-1 Schema  COMPLETED by ada" in lines
    assert "T-2 Payment API  IN PROGRESS by ada" in lines
    assert "T-3 Tests  PENDING – blocked by T-2 Payment API" in lines
    assert "T-4 Page  IN PROGRESS by ben – waits for you: ben proposes a plan" in lines
    assert any(line.startswith("T-5 Docs  PENDING – attempt 3 of 3 failed") for line in lines)


def test_a_task_hangs_under_what_it_waits_for(team: Any) -> None:
    lines = text(team).splitlines()
    at = next(number for number, line in enumerate(lines) if "T-3 Tests" in line)
    assert "T-2 Payment API" in lines[at - 1]
    assert lines[at].index("T-3") > lines[at - 1].index("T-2")


def test_agents_are_on_track_over_or_idle_with_context_and_working_time(team: Any) -> None:
    facts = {agent["name"]: agent for agent in status.as_json(status.read(team.pk, timezone.now()))["agents"]}
    assert (facts["ada"]["pace"], facts["ada"]["context_percent"], facts["ada"]["worked_s"]) == ("on track", 81, 247)
    assert (facts["ben"]["pace"], facts["ben"]["state"], facts["ben"]["context_percent"]) == ("over", "waiting", None)
    assert (facts["cleo"]["pace"], facts["cleo"]["worked_s"], facts["cleo"]["task"]) == ("idle", None, None)
    shown = text(team)
    assert "81 %" in shown
    assert "4 min 7 s" in shown


def test_to_wait_for_the_lead_is_no_work_and_is_shown_apart() -> None:
    team = TeamFactory()
    task = TaskFactory(team=team, in_progress=True, expected_max=10)
    run = RunFactory(task=task, agent=AgentFactory(team=team), started_at=ago(minutes=95), worked_s=240)
    DecisionFactory(run=run, opened_at=ago(minutes=90))
    agent = status.as_json(status.read(team.pk, timezone.now()))["agents"][0]
    assert (agent["worked_s"], agent["waited_s"], agent["pace"]) == (240, 5400, "on track")
    assert "4 min" in text(team)
    assert "1 h 30 min" in text(team)


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (100, "Agent Role State Task Context Worked Waited Pace"),
        (70, "Agent State Task Context Worked Pace"),
        (40, "Agent State Task"),
    ],
)
def test_a_narrow_screen_leaves_columns_out_rather_than_cutting_words(width: int, columns: str) -> None:
    team = TeamFactory(name="Billing")
    agent = AgentFactory(team=team, name="database-designer", role="database-builder", context_tokens=9, context_window=10)
    task = TaskFactory(team=team, number=1, title="Payment API with cards", in_progress=True)
    RunFactory(task=task, agent=agent, started_at=ago(minutes=4, seconds=7))
    lines = text(team, width).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("Agent"))
    assert lines[at].split() == columns.split()
    assert all(len(line) <= width for line in lines[at:])
    shown = " ".join(lines[at:])
    assert "…" not in shown
    assert [word for word in ("database-designer", "working", "Payment", "cards") if word not in shown] == []


def test_the_head_counts_and_says_that_it_is_a_rehearsal(team: Any) -> None:
    shown = text(team)
    assert "1 of 5 tasks completed · 1 waiting for you" in shown
    assert "Rehearsal: replies are scripted" in shown
    assert "cost not reported (budget $5.00)" in shown


def test_the_head_says_where_spending_leads_once_that_is_known() -> None:
    team = TeamFactory(used_usd=2, used_tokens=4000, cost_known=True, created_at=ago(minutes=9))
    TaskFactory(team=team, done=True, used_usd=2, used_tokens=4000)
    TaskFactory(team=team)
    assert "on pace" not in text(team)
    type(team).objects.update(created_at=ago(minutes=11))
    assert "$2.00 · on pace for $4.00" in text(team)
    facts = status.as_json(status.read(team.pk, timezone.now()))["team"]
    assert (facts["on_pace_for_usd"], facts["on_pace_for_tokens"]) == (4, 8000)
    type(team).objects.update(cost_known=False)
    assert "on pace for 8 k tokens" in text(team)


def test_names_with_escapes_and_markup_are_shown_as_harmless_text() -> None:
    team = TeamFactory(name="[bold]Evil[/bold]\x1b[2J")
    TaskFactory(team=team, number=1, title="[red]x[/red]\x1b]0;pwned\x07")
    shown = text(team)
    assert "[bold]Evil[/bold]" in shown
    assert "[red]x[/red]" in shown
    assert "\x1b" not in shown
