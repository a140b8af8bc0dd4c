"""The claimer: runs that are to be claimed while a claim is under way are claimed together by the next."""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress

from tasks_app.execution import db
from tasks_app.services import claims
from tasks_app.services.runs import Held


class Claimer:
    """Claims for one worker, one transaction after another: fifty nudges in one moment are a few of them, not fifty.

    What else is due is taken along, in the places of named runs that are not to be had and while `room()` says that there are
    more: these are `reserved` until `over()` is called.
    `begin` is told of each run that was taken along; not of one that is `here()`, for an earlier life of it is still being ended.
    """

    def __init__(
        self,
        *,
        worker: str,
        host: str,
        room: Callable[[], int],
        here: Callable[[], Collection[str]],
        begin: Callable[[Held], None],
        over: Callable[[], None],
    ) -> None:
        self.reserved = 0  # places that the claim under way may take
        self._worker, self._host = worker, host
        self._room, self._runs_here, self._begin, self._over = room, here, begin, over
        self._asked: dict[str, asyncio.Future[Held | None]] = {}
        self._work: asyncio.Task[None] | None = None

    async def claim(self, run_id: str) -> Held | None:
        """Claim the run; None where it is not to be had now."""
        answer = self._asked.setdefault(run_id, asyncio.get_running_loop().create_future())
        if self._work is None:
            self._work = asyncio.create_task(self._claim())
        return await answer

    async def _claim(self) -> None:
        try:
            while self._asked:
                asked, self._asked = self._asked, {}
                await self._answer(asked)
        finally:
            self._work = None

    async def _answer(self, asked: dict[str, asyncio.Future[Held | None]]) -> None:
        held: dict[str, Held] = {}
        failed: Exception | None = None
        self.reserved = self._room()
        try:
            who, apart = {"worker": self._worker, "host": self._host}, self._runs_here()
            got = await db.call(claims.claim_all, list(asked), **who, more=self.reserved, apart=apart, tried={})
            held = {each.id: each for each in got}
        except Exception as error:
            failed = error
        finally:
            self.reserved = 0
        for run_id, along in held.items():
            if run_id not in asked:
                self._begin(along)
        self._over()
        for run_id, answer in asked.items():
            with suppress(asyncio.InvalidStateError):  # whoever asked was cancelled
                answer.set_exception(failed) if failed else answer.set_result(held.get(run_id))
