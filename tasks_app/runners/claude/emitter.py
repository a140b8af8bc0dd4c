"""Hands steps to the port in batches, in a task of its own, so that reading never waits for storing."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from tasks_app.domain.statuses import StepKind
from tasks_app.runners.port import Port, StepDraft

BATCH = 200
ROOM = 5_000
"""Steps that may wait. Beyond that the reader waits too: better a slow process than a worker out of memory."""


class Emitter:
    """A queue of steps before a port. `failure` is what the port raised, if it did: the run cannot go on then."""

    def __init__(self, port: Port, *, wake: Callable[[], None]) -> None:
        self.failure: BaseException | None = None
        self._port = port
        self._wake = wake
        self._queue: deque[StepDraft] = deque()
        self._session_id: str | None = None
        self._calls: dict[str, asyncio.Event] = {}  # by tool_use_id: set when the port has the step
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def add(self, steps: Sequence[StepDraft]) -> None:
        """Queue steps; starts the task on first use."""
        self._queue.extend(steps)
        self._go()

    def session(self, session_id: str) -> None:
        """Have the port remember the session, before the next steps are handed over."""
        self._session_id = session_id
        self._go()

    async def recorded(self, tool_use_id: str, *, within_s: float) -> bool:
        """Wait until the step of a call is stored, which the process may only now be telling of; whether it is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._call(tool_use_id).wait()
                await self._port.flush()
                return True
        return False

    async def room(self) -> None:
        """Return when the queue has room, at once unless the port is far behind."""
        while len(self._queue) > ROOM and self.failure is None:
            self._emptied.clear()
            await self._emptied.wait()

    async def drain(self) -> None:
        """Hand over all that is queued and have it stored. Raises what the port raised."""
        self._closing = True
        self._go()
        if self._task is not None:
            await self._task
        try:
            if self.failure is None:
                await self._port.flush()
        except Exception as problem:
            self.failure = problem
        if self.failure is not None:
            raise self.failure

    async def abandon(self) -> None:
        """Write nothing more: the run belongs to somebody else."""
        self._queue.clear()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _go(self) -> None:
        self._filled.set()
        if self._task is None and self.failure is None:
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        try:
            while self._queue or self._session_id or not self._closing:
                await self._filled.wait()
                self._filled.clear()
                await self._hand_over()
                if self._closing:
                    self._filled.set()
        except Exception as problem:
            self.failure = problem
            self._queue.clear()
            self._wake()
        finally:
            self._emptied.set()

    async def _hand_over(self) -> None:
        session_id, self._session_id = self._session_id, None
        if session_id is not None:
            await self._port.note_session(session_id)
        while self._queue:
            batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            await self._port.emit(batch)
            for step in batch:
                if step.kind is StepKind.TOOL_CALL:
                    self._call(step.tool_use_id).set()
            self._emptied.set()

    def _call(self, tool_use_id: str) -> asyncio.Event:
        return self._calls.setdefault(tool_use_id, asyncio.Event())
