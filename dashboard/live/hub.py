"""The hub: one per web process. Hears wake-ups, looks at the database in a thread, tells every open page what changed.

Everything happens in one loop: joins, hints, the slow timer, re-checks and heartbeats are gathered into an `Order`, carried
out by `refresh` and applied here, so nothing can overtake anything.
"""

import asyncio
import contextlib
import logging
import time
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async

from dashboard.live.client import Client
from dashboard.live.frames import Close
from dashboard.live.listener import Hint, listen
from dashboard.live.orders import Kind, Order, Outcome, Refused, View
from dashboard.live.pace import Pace
from dashboard.live.refresh import refresh
from dashboard.live.rooms import Rooms
from tasks_app.domain.text import mask_secrets

logger = logging.getLogger(__name__)
PACE = Pace()
TICK_S = 1.0
GOODBYE_S = 0.2  # for close frames to leave before the server does
Work = Callable[[Order, Pace], Awaitable[Outcome]]
_hubs: "WeakKeyDictionary[asyncio.AbstractEventLoop, Hub]" = WeakKeyDictionary()


def current() -> "Hub":
    """Return the hub of the running event loop (of this process, in practice)."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub(PACE)
    return _hubs[loop]


@dataclass
class Stale:
    """What is waiting for the next frame. `look`: teams with a hint; None: all."""

    keys: set[str] = field(default_factory=set)
    look: set[int] | None = field(default_factory=set)
    everything: bool = False  # more keys than are worth telling apart

    def __bool__(self) -> bool:
        return bool(self.keys or self.look is None or self.look or self.everything)


class Hub:
    """`join`, `leave` and `acknowledge` are all that a consumer needs. Runs while a page is open, and `linger_s` longer."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.rooms = Rooms(pace)
        self.joining: dict[Client, None] = {}
        self.stale = Stale()
        self.fast_keys: set[str] = set()
        self.newest = -1  # the highest team pk seen; -1: not looked yet
        self.answering: bool | None = None  # whether a worker answered when the slow timer looked last
        self.sees = True  # whether the last look at the database succeeded: without it no page is told that it is up to date
        self._last = dict.fromkeys(("frame", "fast", "look", "tick", "any"), -1e9)
        self._spent = 0.0  # processor time of this process when the last frame began
        self._empty_since = time.monotonic()
        self._woken = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    # what consumers and the listener call ----------------------------------------------------------------------------

    def join(self, client: Client) -> None:
        """Take in a page; it gets what it missed with the next look, at once. A refusal closes it."""
        self.joining[client] = None
        self._woken.set()
        if not self._tasks:
            self._tasks = [asyncio.ensure_future(self._run()), asyncio.ensure_future(listen(self.hear, self.heard_again))]

    def leave(self, client: Client) -> None:
        """Forget a page; safe to call twice."""
        self.joining.pop(client, None)
        self.rooms.out(client)
        if self._empty():
            self._empty_since = time.monotonic()

    async def goodbye(self) -> None:
        """Close every page, so that it reconnects at once and not after a time-out, and end the hub: the server stops."""
        for client in [*self.joining, *self.rooms.views]:
            self.leave(client)
            client.close(Close.GOING_AWAY, "the server stops")
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.sleep(GOODBYE_S)

    def hear(self, hint: Hint) -> None:
        """Take a wake-up: mark its keys, look at its team with the next frame."""
        if "teams" in hint.keys:
            self.rooms.check_all()
        elif hint.team not in self.rooms.known:
            return
        stale = self.stale
        if stale.look is not None:
            stale.look.add(hint.team)
        stale.keys |= hint.keys
        self.fast_keys |= hint.keys
        if len(stale.keys) > self.pace.max_keys:
            stale.keys.clear()
            self.fast_keys.clear()
            stale.everything = True
        self._woken.set()

    def heard_again(self) -> None:
        """Look at everything: wake-ups may have been lost before this connection."""
        self.stale.look = None
        self._woken.set()

    def acknowledge(self, client: Client, said: str) -> None:
        """Give credit back; a page that was behind gets what it is owed. Raises BadFrame."""
        if client.acknowledge(said):
            self.rooms.repay(client)

    # the loop --------------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        # one thread: two would only wait for each other, and its database connection is used again
        with ThreadPoolExecutor(1, thread_name_prefix="live-hub") as thread:
            work = sync_to_async(refresh, thread_sensitive=False, executor=thread)
            while not self._empty() or time.monotonic() - self._empty_since < self.pace.linger_s:
                await self._until_due()
                try:
                    await self._round(work)
                except Exception as error:
                    self._failed(error)
                    await asyncio.sleep(self.pace.retry_s)
        for task in self._tasks[1:]:
            task.cancel()
        self._tasks = []

    async def _until_due(self) -> None:
        """Wait until there is something to do: at once for a page that joins, else paced by what was done last."""
        while (pause := self._due_in()) > 0:
            self._woken.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), pause)
                if not self.joining:
                    await asyncio.sleep(self.pace.gather_s)

    def _due_in(self) -> float:
        if self.joining:
            return 0.0
        pace, last = self.pace, self._last
        frames = []
        if self.rooms.views:
            frames.append(last["look"] + pace.look_s)
            if self.stale:
                frames.append(last["frame"] + pace.frame_s)
            if self.fast_keys:
                frames.append(last["fast"] + pace.fast_frame_s)
        due = max(min(frames), self._rested()) if frames else last["tick"] + TICK_S
        return min(due, last["tick"] + TICK_S) - time.monotonic()

    def _rested(self) -> float:
        """Return when the next frame may begin, so that frames take no more than their share of a core, many pages or few."""
        pause = (time.process_time() - self._spent) / self.pace.share
        return self._last["any"] + min(pause, self.pace.longest_s)

    def _began(self, now: float, *kinds: str) -> None:
        self._last.update(dict.fromkeys(("any", *kinds), now))
        self._spent = time.process_time()

    async def _round(self, work: Work) -> None:
        now = time.monotonic()
        if now - self._last["tick"] >= TICK_S:
            self._last["tick"] = now
            self.rooms.tick(now, sees=self.sees)
            self.rooms.forget_teams()
        last, pace = self._last, self.pace
        rested = bool(self.rooms.views) and now >= self._rested()
        full = rested and now - last["frame"] >= pace.frame_s and self._frame_due(now)
        fast = rested and bool(self.fast_keys) and now - last["fast"] >= pace.fast_frame_s
        if full and not (fast and last["fast"] == last["frame"]):  # where both are due, turn about, the fast one first
            await self._frame(work, now)
        elif self.joining:
            await self._joins(work)
        elif fast:
            await self._fast_frame(work, now)

    def _frame_due(self, now: float) -> bool:
        if now - self._last["look"] >= self.pace.look_s:
            self.stale.look = None
        return bool(self.stale) or self.rooms.check_due(now) or self.rooms.sweep_due(now)

    async def _frame(self, work: Work, now: float) -> None:
        """The full round: read the logs, render what is stale for everybody, look at rights that are due."""
        stale, self.stale, self.fast_keys = self.stale, Stale(), set()
        self._began(now, "frame", "fast")
        if stale.look is None:
            self._last["look"] = now
        checks = self.rooms.due_checks(now)
        joins = list(self.joining)
        order = Order(
            rooms=self.rooms.shown(),
            known=self.rooms.known,
            keys=frozenset(stale.keys),
            look=None if stale.look is None else frozenset(stale.look),
            joins=tuple({client.ticket for client in joins}),
            checks=tuple({(client.ticket, view) for client, view in checks}),
            everything=stale.everything,
            sweep=self.rooms.due_sweeps(now),
            newest=self.newest,
            answering=self.answering,
        )
        try:
            outcome = await work(order, self.pace)
        except Exception:
            self.stale = Stale(self.stale.keys | stale.keys, None, everything=self.stale.everything or stale.everything)
            raise
        self.sees = True
        self.rooms.known, self.answering = outcome.known, outcome.answering
        for view, news in outcome.rooms.items():
            self.rooms.tell(view, news)
        for client, view in checks:
            self._checked(client, view, outcome)
        self._joined(joins, outcome)

    async def _joins(self, work: Work) -> None:
        """Between two frames: only those who come. Their position may be ahead of the others', never behind."""
        self.rooms.forget_teams()
        joins = list(self.joining)
        tickets = tuple({client.ticket for client in joins})
        outcome = await work(
            Order(rooms=self.rooms.shown(), known={}, joins=tickets, kind=Kind.JOINS, newest=self.newest), self.pace
        )
        ahead = self.rooms.known
        self.rooms.known = {**outcome.known, **ahead}
        self._joined(joins, outcome)

    async def _fast_frame(self, work: Work, now: float) -> None:
        """Between two frames: only blocks whose panel is fast, by hints alone."""
        keys, self.fast_keys = frozenset(self.fast_keys), set()
        self._began(now, "fast")
        outcome = await work(Order(rooms=self.rooms.shown(), known=self.rooms.known, keys=keys, kind=Kind.FAST), self.pace)
        for view, news in outcome.rooms.items():
            self.rooms.tell(view, news, fast=True)

    # applying --------------------------------------------------------------------------------------------------------

    def _joined(self, joins: list[Client], outcome: Outcome) -> None:
        self.newest = outcome.newest
        for client in joins:
            if client not in self.joining:
                continue  # it left meanwhile
            del self.joining[client]
            answer = outcome.joins[client.ticket]
            if isinstance(answer, Refused):
                self.rooms.refuse(client, answer)
            else:
                self.rooms.admit(client, answer)
        if outcome.new_teams:
            self.rooms.check_all()  # those who have just come, too: who looks was asked before what there is

    def _checked(self, client: Client, view: View, outcome: Outcome) -> None:
        answer = outcome.checks[client.ticket, view]
        if self.rooms.views.get(client) != view:
            return  # it left meanwhile
        if isinstance(answer, Refused):
            self.rooms.refuse(client, answer)
        else:
            self.rooms.move(client, answer)

    def _failed(self, error: Exception) -> None:
        logger.error("the live hub cannot look at the database: %s", mask_secrets("".join(traceback.format_exception(error))))
        self.sees = False
        self.heard_again()
        for client in list(self.joining):
            del self.joining[client]
            self.rooms.refuse(client, Refused(Close.TRY_LATER, "the server cannot read its database"))

    def _empty(self) -> bool:
        return not self.rooms.views and not self.joining
