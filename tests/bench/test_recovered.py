"""Effects that came twice are told apart by what was known when the command was given again."""

from pathlib import Path

import pytest

from bench import recovered
from tasks_app.domain.statuses import StepKind
from tasks_app.models import Run
from tasks_app.runners.port import StepDraft
from tasks_app.services import steps
from tests.services import world
from tests.services.fixtures import hints  # noqa: F401

pytestmark = pytest.mark.usefixtures("db", "hints")


def call(name: str, number: int) -> StepDraft:
    command = recovered.COMMAND.format(n=number, task="T-1")
    return StepDraft(StepKind.TOOL_CALL, "Bash", {"tool": "Bash", "input": {"command": command}}, tool_use_id=name)


def played(tmp_path: Path, *drafts: StepDraft) -> dict[str, int]:
    """What is found of a run with these steps whose command ran twice."""
    made = world.make()
    world.workspace(made.team, tmp_path / "work")
    held = made.claim()
    assert Run.objects.get(pk=held.id).task.number == 1
    steps.record(held.id, held.fence, after=0, drafts=drafts)
    (tmp_path / "work" / "T-1.log").write_text("6\n7\n7\n")
    return recovered.twice(made.team)


def test_a_call_that_was_begun_and_told_of(tmp_path: Path) -> None:
    told = StepDraft(StepKind.PROMPT, "Look before you repeat: echo 7 >> T-1.log")
    assert played(tmp_path, call("t1", 7), told, call("t2", 7)) == {"told": 1, "untold": 0, "result stored": 0}


def test_a_call_that_nobody_told_of(tmp_path: Path) -> None:
    told = StepDraft(StepKind.PROMPT, "Look before you repeat: echo 6 >> T-1.log")
    assert played(tmp_path, call("t1", 7), told, call("t2", 7)) == {"told": 0, "untold": 1, "result stored": 0}


def test_a_call_whose_result_was_stored(tmp_path: Path) -> None:
    came = StepDraft(StepKind.TOOL_RESULT, "done", tool_use_id="t1")
    told = StepDraft(StepKind.PROMPT, "It gave done: echo 7 >> T-1.log")
    assert played(tmp_path, call("t1", 7), came, told, call("t2", 7)) == {"told": 0, "untold": 0, "result stored": 1}


def test_one_call_whose_effect_is_there_twice_is_no_repetition(tmp_path: Path) -> None:
    assert played(tmp_path, call("t1", 7)) == {"told": 0, "untold": 1, "result stored": 0}
