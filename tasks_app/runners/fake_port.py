"""A port in memory: scripted answers, kept steps, a store that survives the process. For tests and benchmarks."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import StepKind
from tasks_app.runners.port import Answer, Ask, Directive, StepDraft

Answering = Callable[[Ask], Awaitable[Answer]]
Calling = Callable[[str, Mapping[str, Any], str], tuple[str, bool]]


class MemoryStore:
    """A session store as the SDK wants it: `append`, `load`, `list_subkeys`. `lost` makes every write fail like a stale fence."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, str], list[Any]] = {}
        self.lost = False

    async def append(self, key: Mapping[str, str], entries: Sequence[Any]) -> None:
        """Keep rows in order; one with a known uuid only once."""
        if self.lost:
            raise LeaseLost("the run belongs to another worker")
        kept = self.rows.setdefault(_place(key), [])
        known = {entry.get("uuid") for entry in kept if isinstance(entry, dict)} - {None}
        kept.extend(entry for entry in entries if not (isinstance(entry, dict) and entry.get("uuid") in known))

    async def load(self, key: Mapping[str, str]) -> list[Any] | None:
        """Return the rows of a session or of one of its sub-agents."""
        rows = self.rows.get(_place(key))
        return list(rows) if rows else None

    async def list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        """Return the sub-agents' places in a session."""
        project, session = key["project_key"], key["session_id"]
        return sorted(place[2] for place in self.rows if place[:2] == (project, session) and place[2])


def _place(key: Mapping[str, str]) -> tuple[str, str, str]:
    return key["project_key"], key["session_id"], key.get("subpath") or ""


async def never(ask: Ask) -> Answer:
    """The lead who does not answer: the run has to be stopped, or the call cancelled."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def yes(ask: Ask) -> Answer:
    """The lead who agrees to everything that can be agreed to."""
    return Answer({"permission": "allow", "plan": "approve"}.get(ask.kind.value, "answer"))


def call_nothing(name: str, arguments: Mapping[str, Any], tool_use_id: str) -> tuple[str, bool]:
    """The crew tool that does nothing."""
    return "done", False


@dataclass
class FakePort:
    """Keeps everything a runner says. `answering` may raise `Parked` or `AskWithdrawn`; `order` gives a directive."""

    answering: Answering = never
    calling: Calling = call_nothing
    session_store: MemoryStore = field(default_factory=MemoryStore)
    steps: list[StepDraft] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    withdrawn: list[tuple[Ask, str]] = field(default_factory=list)  # with "withdrawn" or "parked"
    calls: list[tuple[str, Mapping[str, Any], str]] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    pids: list[int] = field(default_factory=list)
    due: list[str] = field(default_factory=list)  # notes to hand over
    urgent: asyncio.Event = field(default_factory=asyncio.Event)  # set: what is due is to stop the agent
    interrupted: int = 0  # how often it was seen stopped for a note
    on_step: Callable[[StepDraft], None] | None = None
    flushed: int = 0
    _directive: Directive = Directive.GO_ON
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def order(self, directive: Directive) -> None:
        """Tell the runner to stop, to leave, or that it lost the run."""
        self._directive = directive
        self.session_store.lost = directive is Directive.LOST
        self._changed.set()

    def of(self, kind: StepKind) -> list[StepDraft]:
        """Return the steps of one kind."""
        return [step for step in self.steps if step.kind is kind]

    async def emit(self, steps: Sequence[StepDraft]) -> None:
        """Keep steps."""
        self._check()
        self.batches.append(len(steps))
        self.steps.extend(steps)
        for step in steps:
            if self.on_step is not None:
                self.on_step(step)

    async def flush(self) -> None:
        """Everything is stored as soon as it is emitted."""
        self._check()
        self.flushed += 1

    async def ask(self, ask: Ask) -> Answer:
        """Ask `answering`."""
        self._check()
        self.asks.append(ask)
        try:
            return await self.answering(ask)
        except asyncio.CancelledError as cancelled:
            self.withdrawn.append((ask, str(cancelled.args[0]) if cancelled.args else ""))
            raise

    async def call_tool(self, name: str, arguments: Mapping[str, Any], tool_use_id: str) -> tuple[str, bool]:
        """Call `calling`."""
        self._check()
        self.calls.append((name, arguments, tool_use_id))
        return self.calling(name, arguments, tool_use_id)

    async def notes(self, *, idle: bool = False) -> Sequence[str]:
        """Hand over what is due, once."""
        self._check()
        due, self.due = self.due, []
        self.urgent.clear()
        return due

    async def interruption(self) -> None:
        """Wait for something urgent."""
        await self.urgent.wait()

    async def note_interrupted(self) -> None:
        """Count it."""
        self._check()
        self.interrupted += 1

    async def keep_files(self) -> str:
        """Keep nothing."""
        return ""

    async def note_session(self, session_id: str) -> None:
        """Keep the session."""
        self._check()
        self.sessions.append(session_id)

    async def note_process(self, pid: int) -> None:
        """Keep the process group; 0 when it is seen gone."""
        self._check()
        self.pids.append(pid)

    def directive(self) -> Directive:
        """What was ordered last."""
        return self._directive

    async def directive_changed(self) -> Directive:
        """Wait for an order."""
        await self._changed.wait()
        return self._directive

    def _check(self) -> None:
        if self._directive is Directive.LOST:
            raise LeaseLost("the run belongs to another worker")
