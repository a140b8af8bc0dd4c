"""A stage for engine tests: a rehearsal server, a workspace, a run, and the proof that nothing is left behind."""

import asyncio
import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tasks_app.domain.ids import new_id
from tasks_app.domain.statuses import DecisionKind
from tasks_app.rehearsal.scripts import Part
from tasks_app.rehearsal.server import RehearsalServer, new_key
from tasks_app.runners.claude import processes
from tasks_app.runners.claude.limits import Limits
from tasks_app.runners.claude.session import ClaudeRunner
from tasks_app.runners.fake_port import Answering, FakePort, never
from tasks_app.runners.port import Outcome, RunSpec, ToolSpec

QUICK = Limits(settle_s=0.5, interrupt_s=1.0, close_s=2.0, term_s=0.5, background_s=3.0)
TASK_LIST = ToolSpec("TaskList", "Lists the tasks.", {"type": "object", "properties": {}})
ESCALATE = ToolSpec("Escalate", "Asks the lead.", {"type": "object", "properties": {}}, asks=DecisionKind.ESCALATION)


def call(tool: str, **given: Any) -> dict[str, Any]:
    """A tool call of a script."""
    return {"tool": tool, "input": given}


def bash(command: str, **more: Any) -> dict[str, Any]:
    """A Bash call of a script."""
    return call("Bash", command=command, description="test", **more)


@dataclass
class Stage:
    """One run after another on one workspace, each with a private home, against one script."""

    server: RehearsalServer
    folder: Path
    run_id: str = field(default_factory=lambda: new_id("r"))
    key: str = field(default_factory=new_key)
    port: FakePort = field(default_factory=FakePort)
    fence: int = 0
    limits: Limits = QUICK

    def __post_init__(self) -> None:
        self.workspace = self.folder / "work"
        self.workspace.mkdir(exist_ok=True)

    def script(self, *turns: dict[str, Any], **more: Any) -> None:
        """Play these turns to the agent."""
        self.server.register(self.key, Part.model_validate({"turns": list(turns), **more}), {"task": "T-1"})

    def spec(self, **changes: Any) -> RunSpec:
        """The next attempt to drive the run: the fence grows, the home is new."""
        self.fence += 1
        env = {"PATH": os.environ["PATH"], "ANTHROPIC_BASE_URL": self.server.url(self.key), "ANTHROPIC_API_KEY": "sk-ant-test"}
        spec = RunSpec(
            run_id=self.run_id,
            fence=self.fence,
            team_id=1,
            agent="builder",
            task_label="T-1",
            attempt=1,
            prompt="Do the task.",
            system_prompt="You are builder.",
            workspace=str(self.workspace),
            home=str(self.folder / f"home-{self.fence}"),
            model=None,
            plan_mode=False,
            session_id=self.port.sessions[-1] if self.port.sessions else None,
            new_session_id=str(uuid.uuid4()),
            tools=(TASK_LIST, ESCALATE),
            env=env,
        )
        return replace(spec, **changes)

    async def run(self, answering: Answering = never, **changes: Any) -> Outcome:
        """Drive the run once."""
        self.port.answering = answering
        return await ClaudeRunner(limits=self.limits).run(self.spec(**changes), self.port)

    def start(self, answering: Answering = never, **changes: Any) -> "asyncio.Task[Outcome]":
        """Drive the run in the background."""
        return asyncio.ensure_future(self.run(answering, **changes))

    def left(self) -> list[processes.Marked]:
        """What is still alive of the run: by its marker or, as a Mac hides that of its own programs, because it works in here."""
        marked = {one.pid: one for one in processes.marked() if one.run_id == self.run_id}
        inside = {one.pid: one for one in psutil.process_iter() if self._is_inside(one) and one.pid not in marked}
        return [*marked.values(), *(processes.Marked(pid, one.create_time(), self.run_id, 0) for pid, one in inside.items())]

    def _is_inside(self, process: psutil.Process) -> bool:
        try:
            return process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(self.folder.resolve())
        except (psutil.Error, OSError):
            return False


@pytest.fixture(scope="session")
def rehearsal() -> Iterator[RehearsalServer]:
    """One scripted model for all tests; scripts do not wait."""
    server = RehearsalServer(pace=0)
    yield server
    server.stop()


@pytest.fixture
def stage(rehearsal: RehearsalServer, tmp_path: Path) -> Iterator[Stage]:
    """A stage whose run leaves no process behind, whatever the test did."""
    stage = Stage(rehearsal, tmp_path)
    yield stage
    left = stage.left()
    asyncio.run(processes.kill_run(stage.run_id, term_s=0))
    assert left == []


async def until(condition: Callable[[], Any], *, within_s: float = 15.0) -> Any:
    """Return what `condition` returns once it is true; the engine decides when, so this looks often."""
    async with asyncio.timeout(within_s):
        while not (found := condition()):  # noqa: ASYNC110 - what it looks at is another process
            await asyncio.sleep(0.02)
        return found
