"""The worker's own life: one loop that drives its runs, beats for their leases, sweeps, and leaves in order."""

import asyncio
import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from django.conf import settings
from django.db import connection

from tasks_app import wake
from tasks_app.domain.leases import FENCE_OFF_S, HEARTBEAT_S, RENUDGE_S
from tasks_app.execution import admission, ageing, backing, db, drive, files_due, oncall, orphans, rest, scratch
from tasks_app.execution.claimer import Claimer
from tasks_app.execution.environment import key_source
from tasks_app.execution.outcome import Here
from tasks_app.execution.port import RunPort
from tasks_app.execution.recorder import Recorder
from tasks_app.runners.port import Directive
from tasks_app.services import claims, hosts, recovery, workers
from tasks_app.services.runs import Held

logger = logging.getLogger(__name__)
SWEEP_S = 2.0
WATCH_S = 0.1
BEAT_AGAIN_S = 1.0
LEAVE_S = 10.0


class Supervisor:
    """Drives runs in this process. `run` is called by Celery's threads; everything else happens on its own loop."""

    def __init__(self, *, slots: int) -> None:
        self.host = hosts.this_host()
        self.name = workers.name_of_this_process(self.host)
        self.slots = slots
        self.on_room: Callable[[], None] = lambda: None  # told, on the loop, whenever a place has become free
        self._ports: dict[str, RunPort] = {}
        self._places: dict[object, str] = {}  # each place that is taken, and the run: being claimed, or driven
        self._ever = 0  # how many runs have taken a place
        self._claimer = Claimer(
            worker=self.name, host=self.host, room=self.room, here=self._runs, begin=self._take_along, over=self._free
        )
        self._here = Here(self.name, self.host, has_room=lambda: self._fitting() > 0)
        self._recorder = Recorder()
        self._freed = asyncio.Event()
        self._hinted = asyncio.Event()  # something was said of a run that is driven here: the heart asks what
        self._siblings: set[str] = set()  # other workers of this host, as of the last sweep
        self._leaving = False
        self._works: set[asyncio.Task[None]] = set()
        self._standing: list[asyncio.Task[None]] = []  # those that go on until it leaves
        self._beat_at = time.monotonic()
        self._loop = asyncio.new_event_loop()
        self._beats = ThreadPoolExecutor(1, thread_name_prefix="crewdesk-beat")
        self._sweeps = ThreadPoolExecutor(1, thread_name_prefix="crewdesk-sweep")
        # the loop's thread lives as long as the process: a Claude process dies with the thread that started it
        self._thread = threading.Thread(target=self._live, name="crewdesk-loop", daemon=True)

    def start(self) -> None:
        """Register, take back what dead predecessors on this host held, and begin to beat and sweep."""
        scratch.use(self.name)
        db.patiently(self._register)
        db.patiently(orphans.end)
        db.patiently(self._take_back)
        self._siblings = db.patiently(workers.siblings, self.host, of=self.name)
        db.patiently(scratch.sweep, self.host)
        connection.close()
        self._thread.start()

    def _register(self) -> None:
        workers.register(self.name, host=self.host, slots=self.slots, has_key=bool(key_source()))

    def _take_back(self) -> int:
        return recovery.take_back_from_dead(self.host, alive=self.name, end=orphans.end)

    def _live(self) -> None:
        asyncio.set_event_loop(self._loop)
        ours = (self._beat(), self._fence_off(), self._sweep(), self._watch(), self._listen())
        own = (rest.look_after(lambda: (len(self._places), self._ever)), drive.load_runners())
        aside = (backing.look_after(), files_due.look_after(), oncall.look_after(every_s=SWEEP_S))
        for work in (*ours, *own, *ageing.works(), *aside):
            self._standing.append(self._begin(work))
        self._loop.run_forever()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let work go on beside. The loop itself holds tasks weakly: one that nobody holds is destroyed while it waits."""
        task = self._loop.create_task(work)
        self._works.add(task)
        task.add_done_callback(self._works.discard)
        return task

    def run(self, run_id: str) -> None:
        """Claim and drive the run, if it is to be had; returns when this life of it is over."""
        asyncio.run_coroutine_threadsafe(self._run_when_there_is_room(run_id), self._loop).result()

    def room(self) -> int:
        """How many runs more may begin here. Nested caps: this process's slots, then what the machine has to spare.

        (The team's cap is counted by the claim.)
        """
        return max(0, min(self.slots - len(self._places), self._fitting()) - self._claimer.reserved)

    def _runs(self) -> set[str]:
        """The runs that take a place."""
        return set(self._places.values())

    def _fitting(self) -> int:
        return 0 if self._leaving else admission.fitting()

    async def _run_when_there_is_room(self, run_id: str) -> None:
        """A nudge may come when the last place has just been taken: it goes back to the queue, for whoever has room first.

        Where the broker does not answer, it waits here until others are nudged for the run again.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RENUDGE_S):
                while not self.room() and not self._leaving:
                    if not self._claimer.reserved and await db.call(claims.hand_on, run_id):
                        return
                    self._freed.clear()
                    await self._freed.wait()
        await self._run(run_id)

    async def _run(self, run_id: str) -> None:
        """Claim and drive it, if there is a place."""
        if run_id not in self._runs() and self.room():
            await self._keep_place(self._take_place(run_id), None)

    def _take_along(self, held: Held) -> None:
        """A run was claimed without a nudge."""
        self._begin(self._keep_place(self._take_place(held.id), held))

    def _take_place(self, run_id: str) -> object:
        """Take a place, which is whoever's takes it: a nudge may come for a run that is driven in another one."""
        place = object()
        self._places[place] = run_id
        return place

    async def _keep_place(self, place: object, held: Held | None) -> None:
        """Drive a run, and then, in its place, what its end has let begin: that needs no way through the broker."""
        self._ever += 1
        try:
            held = held or await self._claimer.claim(self._places[place])
            while held := await self._drive(held) if held else None:
                self._places[place] = held.id
        finally:
            del self._places[place]
            self._free()

    def _free(self) -> None:
        """There may be a place: whoever waits for one looks."""
        self._freed.set()
        self.on_room()

    async def _drive(self, held: Held) -> Held | None:
        port = await drive.open_port(held, self._recorder)
        self._ports[held.id] = port
        try:
            if self._leaving:
                port.direct(Directive.LEAVE)
            return await drive.drive(held, port, self._here)
        finally:
            if self._ports.get(held.id) is port:
                del self._ports[held.id]

    async def _beat(self) -> None:
        """The heartbeat's answer is also how a stop or a lost lease arrives.

        Hints make it beat at once; those that come while it beats are answered together by the next.
        """
        while True:
            self._hinted.clear()
            answered = await self._beat_once()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hinted.wait(), HEARTBEAT_S if answered else BEAT_AGAIN_S)

    async def _fence_off(self) -> None:
        """No heartbeat was answered for long, also while one waits for a database that is away: all is lost."""
        while True:
            await asyncio.sleep(WATCH_S)
            if time.monotonic() - self._beat_at > FENCE_OFF_S:
                for port in list(self._ports.values()):
                    port.direct(Directive.LOST)

    async def _beat_once(self) -> bool:
        """Whether it was answered."""
        asked_at = time.monotonic()
        held = {run_id: port.held.fence for run_id, port in self._ports.items()}
        try:
            answers = await self._loop.run_in_executor(
                self._beats, partial(db.closing_on_error, workers.heartbeat, self.name, held=held)
            )
        except Exception as error:
            logger.warning("no heartbeat: %s", type(error).__name__)
            return False
        self._beat_at = asked_at
        for run_id, directive in answers.items():
            port = self._ports.get(run_id)
            if port is not None and port.held.fence == held[run_id]:
                port.direct(directive)
        return True

    async def _sweep(self) -> None:
        """What must not depend on a hint. Any worker may do it; a little chance keeps them apart."""
        while True:
            await asyncio.sleep(SWEEP_S * random.uniform(0.7, 1.3))  # noqa: S311 - not a secret
            if self._leaving:
                return
            try:
                unsent = await self._loop.run_in_executor(self._sweeps, partial(db.closing_on_error, self._sweep_once))
            except Exception:
                logger.exception("a sweep failed")
                continue
            for run_id in unsent:
                self._begin(self._run(run_id))

    def _sweep_once(self) -> list[str]:
        """Take back at once what a dead worker of this host held; its lease would only run out much later."""
        if not (self._leaving or workers.is_registered(self.name)):  # others have forgotten it: its machine was asleep for long
            self._register()
        self._take_back()
        self._siblings = workers.siblings(self.host, of=self.name)
        scratch.sweep(self.host)
        return recovery.sweep()

    async def _watch(self) -> None:
        """What a sibling held goes on here a moment after its death, without asking the database all the time."""
        while not self._leaving:
            await asyncio.sleep(WATCH_S)
            gone = {name for name in self._siblings if not workers.lives(name)}
            if not gone:
                continue
            self._siblings -= gone
            take_back = partial(db.closing_on_error, self._take_back)
            try:
                await self._loop.run_in_executor(self._sweeps, take_back)
            except Exception:
                logger.exception("what a dead worker held could not be taken back; the next sweep tries again")

    async def _listen(self) -> None:
        async for run_id in wake.run_hints():
            self._hear(run_id)

    def _hear(self, run_id: str) -> None:
        port = self._ports.get(run_id)
        if port is not None:
            port.poke()
            self._hinted.set()

    def leave(self) -> Future[None]:
        """On SIGTERM: take nothing new, park everything; the runs go on elsewhere. Done when this worker holds nothing more."""
        self._leaving = True
        return asyncio.run_coroutine_threadsafe(self._leave(), self._loop)

    async def _leave(self) -> None:
        self._freed.set()
        for port in list(self._ports.values()):
            port.direct(Directive.LEAVE)
        while self._places:  # a run that is being claimed has no port yet, but is ours in a moment: it parks as soon as it has
            self._freed.clear()
            await self._freed.wait()
        await db.call(workers.leave, self.name)
        await scratch.leave(self.name, self.host)
        for work in self._standing:
            work.cancel()


_current: Supervisor | None = None
_left: Future[None] | None = None
_lock = threading.Lock()


def current() -> Supervisor:
    """The supervisor of this process, started on first use."""
    global _current
    with _lock:
        if _current is None:
            _current = Supervisor(slots=settings.WORKER_SLOTS)
            _current.start()
        return _current


def leave() -> None:
    """Park everything this process runs; no error where it runs nothing."""
    global _left
    if _current is not None:
        _left = _current.leave()


def await_left() -> None:
    """Return once everything is parked, at the latest after `LEAVE_S`: a run that was taken along has no thread of Celery's."""
    if _left is not None:
        with contextlib.suppress(TimeoutError):
            _left.result(LEAVE_S)
