"""One life of a run without a Claude process: a real port on a real database, and a runner that plays a function."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import pytest

from tasks_app.domain.statuses import DecisionKind, Reason
from tasks_app.execution import db, drive
from tasks_app.execution import outcome as outcomes
from tasks_app.execution.port import RunPort
from tasks_app.models import Run
from tasks_app.runners.port import Outcome, OutcomeKind, Parked, RunSpec
from tasks_app.services.runs import Held
from tests.services import world

Play = Callable[[RunSpec, RunPort], Awaitable[Outcome]]
PORT_S = 30.0
ENDED = Outcome(OutcomeKind.ENDED, result="That was it.")


class Scripted:
    """A runner that plays the next of `plays` and remembers what it was given."""

    plays: ClassVar[list[Play]] = []
    specs: ClassVar[list[RunSpec]] = []

    async def run(self, spec: RunSpec, port: RunPort) -> Outcome:
        """Play."""
        self.specs.append(spec)
        return await self.plays.pop(0)(spec, port)


def settle(
    held: Held,
    kind: OutcomeKind,
    reason: Reason = Reason.DONE,
    *,
    leaving_for: Reason | None = None,
    here: outcomes.Here | None = None,
    may_ask: bool = False,
    **words: Any,
) -> Any:
    """Settle what came of the life."""
    return outcomes.settle(held, Outcome(kind, reason, **words), leaving_for=leaving_for, here=here, may_ask=may_ask)


def run_of(held: Held) -> Run:
    """The run as it is stored now."""
    return Run.objects.get(pk=held.id)


def on_port(held: Held, work: Callable[[RunPort], Awaitable[Any]], **words: Any) -> Any:
    """Open the port of this life, await `work(port)` and close it; returns what came of it."""

    async def scenario() -> Any:
        port = await drive.open_port(held)
        for name, value in words.items():
            setattr(port, f"_{name}", value)
        try:
            return await asyncio.wait_for(work(port), PORT_S)
        finally:
            await port.close()

    return asyncio.run(scenario())


def drive_on(held: Held, *plays: Play, here: outcomes.Here | None = None) -> Held | None:
    """Drive this life with a runner that plays these; returns what follows it in its place."""

    async def scenario() -> Held | None:
        port = await drive.open_port(held)
        return await asyncio.wait_for(drive.drive(held, port, here), 60)

    Scripted.plays[:], Scripted.specs[:] = list(plays), []
    following = asyncio.run(scenario())
    assert not Scripted.plays, "not every play was played"
    return following


async def eventually(look: Callable[[], Any], *, patience_s: float = 5.0) -> Any:
    """Return the first true answer of `look`, asked in a database thread."""
    end = asyncio.get_running_loop().time() + patience_s
    while not (found := await db.call(look)):
        assert asyncio.get_running_loop().time() < end, look
        await asyncio.sleep(0.01)
    return found


def reports(status: str, **more: Any) -> Play:
    """A play that calls TaskUpdate and ends its turn."""

    async def play(spec: RunSpec, port: RunPort) -> Outcome:
        arguments = {"taskId": spec.task_label, "status": status, **more}
        text, is_error = await port.call_tool("TaskUpdate", arguments, f"toolu_{spec.fence}")
        assert not is_error, text
        return ENDED

    return play


def done(**more: Any) -> Play:
    """A play that completes its task."""
    return reports("completed", evidence={"1": "yes"}, summary="All there.", **more)


async def asks_and_parks(port: Any, kind: DecisionKind = DecisionKind.PERMISSION) -> Outcome:
    """Ask the lead, who does not answer at once: the life ends parked."""
    port._grace_s = 0
    with pytest.raises(Parked):
        await port.ask(world.ask(kind))
    return Outcome(OutcomeKind.PARKED, Reason.PARKED)


def told(given: RunSpec, *, uuid: str) -> dict[str, Any]:
    """The transcript's line with the prompt of a life."""
    return {"type": "user", "uuid": uuid, "message": {"role": "user", "content": given.prompt}}


def outcome(kind: OutcomeKind, *args: Any, **words: Any) -> Play:
    """A play that does nothing and ends so."""

    async def play(spec: RunSpec, port: RunPort) -> Outcome:
        return Outcome(kind, *args, **words)

    return play


say = world.say
