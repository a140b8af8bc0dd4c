"""A sandboxed run on the real engine: its commands write in the workspace and nowhere else, and reach no network."""

import socket

import pytest

from tasks_app.domain.errors import Invalid
from tasks_app.domain.statuses import StepKind
from tasks_app.runners.fake_port import yes
from tasks_app.runners.port import OutcomeKind
from tasks_app.services import workspaces
from tests.runners.claude.conftest import Stage, bash

pytestmark = pytest.mark.engine


def can_isolate() -> bool:
    """Whether this machine can make a sandbox: a container may forbid it."""
    try:
        workspaces.must_isolate()
    except Invalid:
        return False
    return True


async def commands(stage: Stage, *, sandbox: bool) -> str:
    """Run one command that tries to get out; returns what it said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo got-network || echo no-network"
        stage.script({"call": [bash(f"touch inside.txt; touch {stage.folder}/outside.txt; {reach}")]}, {"say": "done"})
        outcome = await stage.run(yes, allow=("Bash",), sandbox=sandbox)
    assert outcome.kind is OutcomeKind.ENDED or (sandbox and not can_isolate()), outcome
    return "\n".join(str(step.text) for step in stage.port.of(StepKind.TOOL_RESULT))


async def test_a_sandboxed_command_stays_in_the_workspace_and_off_the_network(stage: Stage) -> None:
    said = await commands(stage, sandbox=True)
    assert not (stage.folder / "outside.txt").exists(), said
    assert "got-network" not in said, "and where no sandbox can be made, nothing runs without one"
    if can_isolate() and "failed to initialize" not in said:  # Claude Code gives up soon on a machine that is very busy
        assert (stage.workspace / "inside.txt").exists(), said
        assert "no-network" in said


async def test_without_a_sandbox_the_same_command_gets_out(stage: Stage) -> None:
    """So that the test above shows something."""
    said = await commands(stage, sandbox=False)
    assert (stage.folder / "outside.txt").exists()
    assert "got-network" in said
