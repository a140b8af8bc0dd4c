"""What execution reads of a run."""

import pytest

from tasks_app.domain.lost_calls import CUT_OFF
from tasks_app.domain.statuses import StepKind
from tasks_app.models import Step
from tasks_app.runners.claude.content import kept_json
from tasks_app.selectors import runs
from tests.factories import RunFactory, StepFactory

pytestmark = pytest.mark.django_db


def test_files_written_are_named_once_in_order_also_by_calls_too_large_to_keep_whole():
    run = RunFactory()
    calls = [
        ("Write", {"file_path": "/w/a.py", "content": "x"}),
        ("Write", {"file_path": '/w/big "quoted" \\ é.txt', "content": "y" * 100_000}),
        ("Read", {"file_path": "/w/read.py"}),
        ("Edit", {"file_path": "/w/a.py", "old_string": "x", "new_string": "z"}),
        ("NotebookEdit", {"notebook_path": "/w/n.ipynb"}),
    ]
    for seq, (tool, given) in enumerate(calls, 1):
        StepFactory(run=run, seq=seq, kind=StepKind.TOOL_CALL.value, data={"tool": tool, **kept_json(given)})
    assert runs.files_written(run.pk) == ["/w/a.py", '/w/big "quoted" \\ é.txt', "/w/n.ipynb"]


def test_a_call_that_was_cut_off_is_not_said_to_have_been_refused():
    """What Claude Code writes then speaks of a user who does not want it."""
    step = StepFactory(kind="tool_result", text=f"{CUT_OFF[0]}proceed with this tool use.", data={"is_error": True})
    assert runs.last_steps(step.run_id) == [f"tool_result: {runs.INTERRUPTED}"]
    Step.objects.update(data={})
    assert "with this tool use" in runs.last_steps(step.run_id)[0], "a tool has printed it"


def test_the_last_steps_are_what_the_agent_did_not_what_it_was_told():
    run = RunFactory()
    told = [
        (StepKind.PROMPT, "# Your task", {}),
        (StepKind.SAID, "I look.", {}),
        (StepKind.TOOL_CALL, "Bash", {"tool": "Bash", "input": {"command": "ls docs"}}),
        (StepKind.NOTICE, "retrying", {}),
        (StepKind.TOOL_RESULT, "x" * 1_000, {}),
        (StepKind.PROMPT, "Report on your task.", {}),
        (StepKind.RESULT, "success", {}),
    ]
    for seq, (kind, text, data) in enumerate(told, 1):
        StepFactory(run=run, seq=seq, kind=kind.value, text=text, data=data)
    said, call, result = runs.last_steps(run.pk)
    assert (said, call) == ("said: I look.", 'tool_call: Bash {"command": "ls docs"}')
    assert len(result) == runs.LINE
    assert runs.last_steps(run.pk, count=1) == [result]
