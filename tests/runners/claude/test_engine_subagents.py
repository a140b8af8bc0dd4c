"""Sub-agents ask as their agent does, on the real Claude Code process."""

import pytest

from tasks_app.domain.statuses import StepKind
from tasks_app.runners.port import OutcomeKind
from tests.runners.claude.conftest import Stage, bash, call
from tests.runners.claude.test_engine_asks import parking, saying

pytestmark = pytest.mark.engine


async def test_a_subagent_asks_under_its_own_name(stage: Stage) -> None:
    """N25."""
    stage.script(
        {"call": [call("Agent", description="explore the code", prompt="look around", subagent_type="general-purpose")]},
        {"say": "main done"},
        {"say": "saw the sub-agent"},
        subagents={"look around": [{"call": [bash("echo sub > sub.txt")]}, {"say": "sub done"}]},
    )
    outcome = await stage.run(saying("allow"))
    assert outcome.kind is OutcomeKind.ENDED
    (ask,) = stage.port.asks
    assert ask.subagent == ask.payload["subagent"] == "explore the code"
    assert (stage.workspace / "sub.txt").exists()
    assert any(step.parent_tool_use_id and step.text == "sub done" for step in stage.port.of(StepKind.SAID))
    assert {step.data["state"] for step in stage.port.of(StepKind.SUBTASK)} >= {"started", "completed"}


async def test_a_subagent_can_park_the_whole_run(stage: Stage) -> None:
    stage.script(
        {"call": [call("Agent", description="explore", prompt="look around", subagent_type="general-purpose")]},
        {"say": "main done"},
        subagents={"look around": [{"call": [bash("echo sub > sub.txt")]}, {"say": "sub done"}]},
    )
    outcome = await stage.run(parking)
    assert outcome.kind is OutcomeKind.PARKED
    assert not (stage.workspace / "sub.txt").exists()
