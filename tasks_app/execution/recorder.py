"""The recorder: steps that are to be stored while others of their team are stored go together into the next transaction.

All that changes a team waits for its lock, which each transaction takes anew: fifty agents with a few steps a second each would
take it two hundred times a second (docs/performance.md).
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

from tasks_app.execution import db
from tasks_app.services import steps
from tasks_app.services.steps import Batch, Recorded

MOST = 16
"""Batches of one transaction: whatever else wants the team's lock waits for all of them."""
MOST_STEPS = 500
"""Steps of one transaction, unless one batch alone has more: what a port may have queued while the database was away."""
Entry = tuple[Batch, "asyncio.Future[Recorded]"]
"""A batch that waits, and where its answer is awaited."""


class Recorder:
    """Stores the steps of all runs of one event loop; of each team one transaction after another."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[Entry]] = defaultdict(list)
        self._writers: dict[int, asyncio.Task[None]] = {}

    async def record(self, team_id: int, batch: Batch) -> Recorded:
        """Store the steps of a run of that team; as `steps.record`, with its errors."""
        answer: asyncio.Future[Recorded] = asyncio.get_running_loop().create_future()
        self._waiting[team_id].append((batch, answer))
        if team_id not in self._writers:
            self._writers[team_id] = asyncio.create_task(self._write(team_id))
        return await answer

    async def _write(self, team_id: int) -> None:
        try:
            while waiting := _awaited(self._waiting.pop(team_id, [])):
                count = _fitting(waiting)
                if waiting[count:]:
                    self._waiting[team_id] = waiting[count:]
                await self._store(waiting[:count])
        finally:
            del self._writers[team_id]

    async def _store(self, entries: list[Entry]) -> None:
        """Together; where something cannot be stored, one by one: whose fault it is, only it has.

        Where the database goes away meanwhile, nobody waits for it anew.
        """
        most = len(entries)
        while now := _awaited(entries)[:most]:
            try:
                found: Sequence[Recorded | Exception] = await db.in_line(steps.record_all, [batch for batch, _ in now])
            except Exception as error:
                if db.is_away(error):
                    now = _awaited(entries)
                elif len(now) > 1:
                    most = 1
                    continue
                found = [error] * len(now)
            _answer(now, found)


def _awaited(entries: list[Entry]) -> list[Entry]:
    """Those that have no answer yet and whose port has not been closed."""
    return [entry for entry in entries if not entry[1].done()]


def _fitting(entries: list[Entry]) -> int:
    """How many of them one transaction takes, at least one."""
    count, size = 0, 0
    for batch, _ in entries[:MOST]:
        size += len(batch.drafts)
        if count and size > MOST_STEPS:
            break
        count += 1
    return count


def _answer(entries: Sequence[Entry], found: Sequence[Recorded | Exception]) -> None:
    for (_, answer), came in zip(entries, found, strict=True):
        with suppress(asyncio.InvalidStateError):  # its port was closed meanwhile
            answer.set_exception(came) if isinstance(came, Exception) else answer.set_result(came)
