"""examples/billing: the plan is one, the script's files and commands are good, the scripted lead knows every question."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tasks_app.domain.statuses import DecisionKind
from tasks_app.management import lead, plan_files
from tasks_app.management.lead import Request
from tasks_app.rehearsal import scripts
from tasks_app.rehearsal.script_model import Call, Part, Turn

BILLING = Path(__file__).resolve().parents[2] / "examples" / "billing"
SCRIPT = scripts.load(BILLING / "rehearsal.yaml")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return Path(shutil.copytree(BILLING / "workspace", tmp_path / "work", ignore=shutil.ignore_patterns("__pycache__")))


def part(task: str, attempt: int = 1) -> Part:
    found = SCRIPT.part_for(agent="anyone", key=task, attempt=attempt)
    assert found is not None
    return found


def calls(turns: Sequence[Turn], branch: int) -> Iterator[Call]:
    for turn in turns:
        if turn.either is not None:
            yield from calls(turn.either[min(branch, len(turn.either) - 1)].then, branch)
        else:
            yield from turn.call


def play(workspace: Path, task: str, *, attempt: int = 1, branch: int = 0) -> list[tuple[int, str]]:
    """Write the files of a part as its tools would, run its commands; return how each command ended."""
    ended = []
    for call in calls(part(task, attempt).turns, branch):
        given = {key: value.replace("{workspace}", str(workspace)) for key, value in call.input.items() if isinstance(value, str)}
        if call.tool == "Write":
            Path(given["file_path"]).write_text(given["content"])
        elif call.tool == "Edit":
            file = Path(given["file_path"])
            assert file.read_text().count(given["old_string"]) == 1
            file.write_text(file.read_text().replace(given["old_string"], given["new_string"]))
        elif call.tool == "Bash":
            command = given["command"].replace("python3 ", f"{sys.executable} ")
            done = subprocess.run(command, shell=True, cwd=workspace, capture_output=True, text=True, timeout=60)
            ended.append((done.returncode, done.stdout + done.stderr))
    return ended


def test_the_plan_has_five_tasks_and_four_agents_two_at_a_time() -> None:
    plan, source = plan_files.read(BILLING / "plan.yaml")
    assert (len(plan.tasks), len(plan.agents), plan.limits.parallel) == (5, 4, 2)
    assert plan.needs()[3] == (0, 1)
    assert [agent.name for agent in plan.agents if agent.plan_mode] == ["cleo"]
    assert all(SCRIPT.part_for(agent="x", key=task.key or "") for task in plan.tasks)
    assert source.script


def test_the_repository_of_the_example_passes_its_own_tests(workspace: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."], cwd=workspace, capture_output=True
    )
    assert done.returncode == 0, done.stderr


def test_the_whole_story_leaves_a_repository_that_works(workspace: Path) -> None:
    assert [code for code, _ in play(workspace, "schema")] == [0, 0, 0]
    first = play(workspace, "payment-api", branch=2)
    assert [code for code, _ in first] == [1, 1, 1]
    reasons = ("Basic authentication was switched off", "not enabled for charges", "signature does not match")
    assert all(f"401: {why}" in text or why in text for why, (_, text) in zip(reasons, first, strict=True))
    assert [code for code, _ in play(workspace, "payment-api", attempt=2)] == [0]
    assert [code for code, _ in play(workspace, "billing-page", branch=1)] == [0]
    play(workspace, "documentation", branch=2)
    assert [code for code, _ in play(workspace, "integration-tests")] == [0]
    assert (workspace / "docs" / "billing.md").exists()


def test_a_lead_who_ships_without_payments_gets_a_repository_that_works_too(workspace: Path) -> None:
    play(workspace, "schema")
    assert [code for code, _ in play(workspace, "payment-api", branch=0)] == [1, 1, 1, 0]
    assert "skipped=2" in play(workspace, "integration-tests")[0][1]


def test_the_scripted_lead_knows_every_request_of_the_story() -> None:
    rules = lead.load(BILLING / "lead.yaml")

    def ask(id: str, kind: DecisionKind, task: str, **payload: object) -> Request:
        return Request(id, kind, "", "x", (task,), payload, open=True)

    plans = [ask(f"p{n}", DecisionKind.PLAN, "billing-page") for n in (1, 2)]
    escalate = next(call for call in calls(part("payment-api").turns, 2) if call.crew == "Escalate")
    question = next(call for call in calls(part("documentation").turns, 2) if call.tool == "AskUserQuestion")
    auto = {"problem": "T-2 Payment API failed after attempt 1 of 3: answers 401", "options": [{"label": "Give it to ada"}]}
    everything = [
        ask("a", DecisionKind.PERMISSION, "schema", input={"command": "python3 -m billing.store billing.sqlite3"}),
        *plans,
        ask("q", DecisionKind.QUESTION, "documentation", **question.input),
        ask("e", DecisionKind.ESCALATION, "payment-api", **escalate.input),
        ask("f", DecisionKind.ESCALATION, "payment-api", **auto),
    ]
    replies = [lead.reply(rules, each, all_requests=everything) for each in everything]
    assert [reply and reply.choice for reply in replies] == ["allow", "revise", "approve", "answer", "answer", "answer"]
    assert [reply.data.get("option") for reply in replies[4:] if reply] == ["Sign requests as version 2 asks", "Give it to ada"]
    assert replies[3] is not None
    assert list(replies[3].data["answers"].values()) == ["Both"]


def test_context_passes_eighty_percent_of_a_window_of_200_000() -> None:
    usages = [turn.usage for each in SCRIPT.parts for turn in each.turns if turn.usage]
    highest = max((usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0) for usage in usages)
    assert 160_000 < highest < 166_000  # above 80 %, below where Claude Code compacts
