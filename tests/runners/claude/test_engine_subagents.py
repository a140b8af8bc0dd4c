"""Sub-agents ask as their agent does, on the real Claude Code process."""

import asyncio

import pytest

from tasks_app.domain.statuses import StepKind
from tasks_app.runners.fake_port import never
from tasks_app.runners.port import Directive, OutcomeKind
from tests.runners.claude.conftest import Stage, bash, call, until
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


async def test_a_stop_ends_twenty_agents_in_the_background_with_their_questions_and_wakes_nobody(stage: Stage) -> None:
    """N38."""
    agents = [
        call("Agent", description=f"agent {n}", prompt=f"look {n}", subagent_type="general-purpose", run_in_background=True)
        for n in range(20)
    ]
    stage.script(
        {"call": agents},
        {"say": "they work"},
        {"say": "woken", "call": [bash("echo woken > woken.txt")]},
        subagents={"look": [{"call": [bash("echo sub >> sub.txt")]}, {"say": "sub done"}]},
    )
    task = stage.start(never)
    await until(lambda: len(stage.port.asks) == 20 and stage.port.of(StepKind.RESULT), within_s=30)
    stage.port.order(Directive.STOP)
    assert (await asyncio.wait_for(task, 15)).kind is OutcomeKind.STOPPED
    assert stage.left() == []
    ended = {step.data["task_id"] for step in stage.port.of(StepKind.SUBTASK) if step.data["state"] in ("killed", "stopped")}
    assert len(ended) == 20, "each said that it has ended"
    assert [word for _, word in stage.port.withdrawn] == ["withdrawn"] * 20
    assert [step.text for step in stage.port.of(StepKind.SAID) if not step.parent_tool_use_id] == ["they work"]
    assert list(stage.workspace.iterdir()) == []
