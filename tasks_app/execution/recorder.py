"""The recorder: steps that are to be stored while others of their team are stored go together into the next transaction.

All that changes a team waits for its lock, which each transaction takes anew: fifty agents with a few steps a second each would
take it two hundred times a second (docs/performance.md).
"""

import asyncio
from collections import defaultdict
from contextlib import suppress

from tasks_app.execution import db
from tasks_app.services import steps
from tasks_app.services.steps import Batch, Recorded

MOST = 16
"""Batches of one transaction: whatever else wants the team's lock waits for all of them."""
Asked = tuple[Batch, "asyncio.Future[Recorded]"]


class Recorder:
    """Stores the steps of all runs of one event loop; of each team one transaction after another."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[Asked]] = defaultdict(list)
        self._works: dict[int, asyncio.Task[None]] = {}

    async def record(self, team_id: int, batch: Batch) -> Recorded:
        """Store the steps of a run of that team; as `steps.record`, with its errors."""
        answer: asyncio.Future[Recorded] = asyncio.get_running_loop().create_future()
        self._waiting[team_id].append((batch, answer))
        if team_id not in self._works:
            self._works[team_id] = asyncio.create_task(self._work(team_id))
        return await answer

    async def _work(self, team_id: int) -> None:
        try:
            while waiting := [asked for asked in self._waiting.pop(team_id, []) if not asked[1].cancelled()]:
                now, later = waiting[:MOST], waiting[MOST:]
                if later:
                    self._waiting[team_id] = later
                await self._store(now)
        finally:
            del self._works[team_id]

    async def _store(self, asked: list[Asked]) -> None:
        try:
            found: list[Recorded | Exception] = [*await db.in_line(steps.record_all, [batch for batch, _ in asked])]
        except Exception as error:
            if len(asked) > 1 and not db.is_away(error):
                for one in asked:  # whose fault it is, only it has
                    await self._store([one])
                return
            found = [error] * len(asked)
        for (_, answer), came in zip(asked, found, strict=True):
            with suppress(asyncio.InvalidStateError):  # whoever asked was cancelled
                answer.set_exception(came) if isinstance(came, Exception) else answer.set_result(came)
