"""When the hub looks: fast blocks first, nothing starves, and frames take no more than their share of a core."""

import asyncio
import json
import time
from collections.abc import Iterable
from typing import Any

import pytest

from dashboard.live import hub as module
from dashboard.live.client import Client, Send, Ticket
from dashboard.live.hub import Hub
from dashboard.live.listener import Hint
from dashboard.live.orders import Admitted, News, Order, Outcome, Shown, View
from dashboard.live.pace import Pace
from dashboard.live.rooms import Rooms

VIEW = View("team", "atlas", frozenset({1}), frozenset())


class Noting(Hub):
    """Notes what it would do, each time as if everything were due."""

    def __init__(self) -> None:
        super().__init__(Pace())
        self.done: list[str] = []
        self.rooms.admit(Client(Ticket("s", "team", "atlas", "1:0"), _nowhere, self.pace), Admitted(VIEW, Shown(())))
        self.rooms.known = {1: 0}

    def saying(self) -> None:
        """An agent says something."""
        self.hear(Hint(1, frozenset({"run:a"})))

    async def _frame(self, work: Any, now: float) -> None:
        self.done.append("full")
        self.stale, self.fast_keys = module.Stale(), set()
        self._began(now, "frame", "fast")

    async def _fast_frame(self, work: Any, now: float) -> None:
        self.done.append("fast")
        self.fast_keys = set()
        self._began(now, "fast")

    async def rounds(self, count: int) -> list[str]:
        """Do so many rounds, long enough apart for anything to be due."""
        for _ in range(count):
            for name in self._last:
                self._last[name] -= 10.0
            self._last["tick"] = time.monotonic()
            await self._round(_nowhere)  # type: ignore[arg-type]
        return self.done


async def _nowhere(*_: Any) -> None: ...


async def test_after_a_quiet_time_the_fast_blocks_come_first_and_everything_right_after() -> None:
    hub = Noting()
    hub._began(time.monotonic(), "frame", "fast")
    hub.saying()
    assert await hub.rounds(2) == ["fast", "full"]


async def test_where_agents_never_stop_talking_fast_and_full_frames_take_turns() -> None:
    hub = Noting()
    hub._began(time.monotonic(), "frame", "fast")
    for _ in range(6):
        hub.saying()
        await hub.rounds(1)
    assert hub.done == ["fast", "full"] * 3


def test_a_frame_that_costs_much_lets_the_next_one_wait_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    hub, spent = Hub(Pace(share=0.5, longest_s=0.8)), [10.0]
    monkeypatch.setattr(module.time, "process_time", lambda: spent[0])
    hub._began(100.0, "frame")
    assert hub._rested() == 100.0
    spent[0] = 10.1
    assert hub._rested() == pytest.approx(100.2)
    spent[0] = 20.0
    assert hub._rested() == pytest.approx(100.8)


async def test_pages_that_stand_at_the_same_place_are_sent_one_text_and_others_their_own() -> None:
    sent: dict[str, list[str]] = {"early": [], "late": [], "far": []}
    rooms = Rooms(Pace())
    rooms.known = {1: 3}
    clients = {name: Client(Ticket("s", "team", "atlas", "1:3"), _into(texts), Pace()) for name, texts in sent.items()}
    for one in clients.values():
        rooms.admit(one, Admitted(VIEW, Shown(()), News(Shown(()), {})))
    clients["far"].cursor = "1:2"
    rooms.known = {1: 4}
    rooms.tell(VIEW, News(Shown(()), {"a": "<p>x</p>"}))
    await _pumped(clients.values())
    early, late, far = (texts[-1] for texts in sent.values())
    assert early is late
    assert [json.loads(text)["prev"] for text in (early, far)] == ["1:3", "1:2"]
    assert json.loads(far)["html"] == {"a": "<p>x</p>"}


def _page(texts: list[str], page: str = "team") -> Client:
    return Client(Ticket("s", page, "atlas", "1:0"), _into(texts), Pace())


async def test_signs_of_life_come_only_while_the_hub_sees_the_database() -> None:
    """A page that hears nothing says that it is stale; one that hears them says "Live"."""
    fails = [True]

    async def work(order: Order, pace: Pace) -> Outcome:
        if fails[0]:
            raise ConnectionError("the database is away")
        return Outcome(dict(order.known), 1)

    hub, texts = Hub(Pace(heartbeat_s=1.0)), list[str]()
    page = _page(texts)
    hub.rooms.admit(page, Admitted(VIEW, Shown(()), News(Shown(()), {})))

    async def heard() -> int:
        page.last_sent -= 10
        hub._last = dict.fromkeys(hub._last, -1e9)
        try:
            await hub._round(work)
        except ConnectionError as error:
            hub._failed(error)
        await _pumped([page])
        return len(texts)

    before = await heard()
    assert [await heard(), await heard()] == [before, before]
    fails[0] = False
    assert [await heard(), await heard()] == [before, before + 1]


async def test_where_more_is_due_than_one_frame_takes_what_waited_longest_comes_first() -> None:
    pace = Pace(sweep_batch=2, recheck_batch=2)
    rooms, count = Rooms(pace), 5
    for number in range(count):
        view = View("team", str(number), frozenset({1}), frozenset())
        rooms.admit(_page([], f"page-{number}"), Admitted(view, Shown(()), News(Shown(()), {})))
    swept, checked = set[str](), set[str]()
    for turn in range(1, 4):
        now = time.monotonic() + turn * (pace.sweep_s + pace.recheck_s)  # all of them are due again
        swept |= {view.arg for view in rooms.due_sweeps(now)}
        checked |= {client.ticket.page for client, _ in rooms.due_checks(now)}
    assert len(swept) == len(checked) == count


async def test_who_comes_with_the_look_that_finds_a_new_team_is_looked_at_again_too() -> None:
    """Who looks is asked before what there is: rights in a team that was made in between are not known yet."""
    hub, page = Hub(Pace()), _page([])
    hub.joining[page] = None
    hub._joined([page], Outcome({}, 2, new_teams=True, joins={page.ticket: Admitted(VIEW, Shown(()))}))
    assert hub.rooms.check_due(time.monotonic())


def _into(texts: list[str]) -> Send:
    async def send(message: dict[str, Any]) -> None:
        texts.append(message["text"])

    return send


async def _pumped(clients: Iterable[Client]) -> None:
    pumps = [asyncio.ensure_future(one.pump()) for one in clients]
    await asyncio.sleep(0)
    for pump in pumps:
        pump.cancel()
