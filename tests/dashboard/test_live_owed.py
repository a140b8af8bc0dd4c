"""A page that has no credit is owed the newest of each block, gets it as one frame, and nothing of what it may not see."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from dashboard.live import client as module
from dashboard.live.client import Client, Ticket
from dashboard.live.frames import DecisionEvent
from dashboard.live.orders import Admitted, News, Shown, View
from dashboard.live.owed import MOST_EVENTS, Owed
from dashboard.live.pace import Pace
from dashboard.live.rooms import Rooms

SHOWN = Shown(())
VIEW = View("team", "atlas", frozenset({1}), frozenset())
OTHER = View("team", "atlas", frozenset({1}), frozenset({1}))


def event(id: str) -> DecisionEvent:
    return {"type": "decision", "id": id, "kind": "plan", "title": "t", "agent": "a", "team": "Atlas"}


def news(html: dict[str, str | None] | None = None, **more: Any) -> News:
    return News(SHOWN, html or {}, **more)


# -- what is owed


def test_of_each_block_the_newest_is_owed_and_it_comes_after_what_came_in_between() -> None:
    owed = Owed("1:1")
    owed.add(news({"card": "old", "gone": "here"}), "1:2")
    owed.add(news({"board": "with the old card"}), "1:3")
    owed.add(news({"card": "new", "gone": None}), "1:4")
    found = owed.news()
    assert list(found.html.items()) == [("board", "with the old card"), ("card", "new"), ("gone", None)]
    assert owed.cursor == "1:4"
    assert not found.resync


def test_the_texts_are_those_that_all_pages_share() -> None:
    text = "".join(["a long ", "text"])
    owed = Owed("1:1")
    owed.add(news({"card": text}), "1:2")
    assert owed.news().html["card"] is text


def test_requests_are_told_one_after_another_and_of_very_many_the_newest() -> None:
    owed = Owed("1:1")
    for number in range(MOST_EVENTS + 2):
        owed.add(news(wait=number, events=(event(f"d{number}"),)), "1:2")
    owed.add(news({"card": "x"}), "1:3")
    found = owed.news()
    assert [one["id"] for one in found.events] == [f"d{number}" for number in range(2, MOST_EVENTS + 2)]
    assert found.wait == MOST_EVENTS + 1, "that a frame says nothing of the number does not make it unknown"


def test_a_page_that_is_to_fetch_itself_is_owed_no_html_but_still_its_requests() -> None:
    owed = Owed("1:1")
    owed.add(news({"card": "x"}, events=(event("d1"),)), "1:2")
    owed.add(news(resync=True), "1:3")
    owed.add(news({"card": "y"}), "1:4")
    found = owed.news()
    assert (found.html, found.resync, len(found.events), owed.cursor) == ({}, True, 1, "1:4")


# -- pages


@dataclass
class Desk:
    """Rooms with one page, what it was sent, and the time."""

    rooms: Rooms
    page: Client
    texts: list[str]
    wait: Callable[[float], None]

    def tell(self, at: int, html: dict[str, str | None] | None = None, **more: Any) -> None:
        fast = more.pop("fast", False)
        self.rooms.known = {1: at}
        self.rooms.tell(VIEW, news(html, **more), fast=fast)

    def acknowledge(self, cursor: str) -> None:
        if self.page.acknowledge(cursor):
            self.rooms.repay(self.page)

    async def sent(self) -> list[dict[str, Any]]:
        pump = asyncio.ensure_future(self.page.pump())
        await asyncio.sleep(0)
        pump.cancel()
        found, self.texts[:] = [json.loads(text) for text in self.texts], []
        return found


@pytest.fixture
async def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A page that has come and has acknowledged all so far."""
    clock, texts = [1000.0], list[str]()
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])

    async def send(message: dict[str, Any]) -> None:
        texts.append(message["text"])

    def wait(seconds: float) -> None:
        clock[0] += seconds

    rooms, page = Rooms(Pace()), Client(Ticket("s", "team", "atlas", "1:0"), send, Pace())
    rooms.known = {1: 0}
    rooms.admit(page, Admitted(VIEW, SHOWN, news()))
    made = Desk(rooms, page, texts, wait)
    await made.sent()
    made.acknowledge("1:0")
    return made


async def test_a_page_that_shows_nothing_for_a_while_gets_one_frame_with_all_it_missed(desk: Desk) -> None:
    desk.tell(1, {"a": "1", "b": "1"})
    desk.wait(2.0)
    desk.tell(2, {"a": "2"})
    desk.tell(3, {"c": "3"}, wait=4)
    assert [frame["seq"] for frame in await desk.sent()] == ["1:1"]
    desk.acknowledge("1:1")
    (frame,) = await desk.sent()
    assert frame == {"prev": "1:1", "seq": "1:3", "html": {"a": "2", "c": "3"}, "wait": 4}
    desk.tell(4, {"a": "4"})
    assert [one["prev"] for one in await desk.sent()] == ["1:3"], "it is in step again"


async def test_a_page_that_acknowledges_every_second_is_never_behind(desk: Desk) -> None:
    for at in range(1, 41):
        desk.tell(at, {"a": str(at)})
        desk.tell(at, {"b": str(at)}, fast=True)
        desk.wait(0.25)
        if at % 4 == 0:
            desk.acknowledge(f"1:{at}")
    assert len(await desk.sent()) == 80


async def test_large_fast_frames_that_move_nobody_do_not_keep_a_page_waiting_that_has_acknowledged_them(desk: Desk) -> None:
    for _ in range(6):
        desk.tell(1, {"a": "x" * 80_000}, fast=True)
    desk.wait(2.0)
    desk.tell(1, {"a": "newest"}, fast=True)
    assert len(await desk.sent()) == 6
    desk.acknowledge("1:0")
    assert [frame["html"] for frame in await desk.sent()] == [{"a": "newest"}]


async def test_a_fast_frame_that_is_owed_does_not_move_the_page(desk: Desk) -> None:
    desk.tell(1, {"a": "1"})
    desk.wait(2.0)
    desk.tell(2, {"a": "2"}, fast=True)
    assert desk.page.cursor == "1:1"
    desk.tell(3, {"b": "3"})
    desk.tell(4, {"a": "4"}, fast=True)
    await desk.sent()
    desk.acknowledge("1:1")
    (frame,) = await desk.sent()
    assert frame == {"prev": "1:1", "seq": "1:3", "html": {"b": "3", "a": "4"}}


async def test_more_than_a_frame_takes_is_fetched(desk: Desk) -> None:
    desk.tell(1, {"a": "1"})
    desk.wait(2.0)
    for at in range(2, 5):
        desk.tell(at, {f"part{at}": "x" * 400_000})
    await desk.sent()
    desk.acknowledge("1:1")
    (frame,) = await desk.sent()
    assert frame == {"resync": True, "seq": "1:4"}


async def test_a_page_whose_rights_have_changed_is_owed_nothing_of_what_it_saw_with_the_old_ones(desk: Desk) -> None:
    desk.tell(1, {"a": "1"})
    desk.wait(2.0)
    desk.tell(2, {"a": "for other eyes"})
    desk.rooms.move(desk.page, Admitted(OTHER, SHOWN, news({"a": "for these"})))
    await desk.sent()
    desk.acknowledge("1:1")
    (frame,) = await desk.sent()
    assert frame == {"resync": True, "seq": "1:2"}


@pytest.mark.parametrize(("teams", "told"), [({1, 2}, ["d1", "d2"]), ({2}, ["d2"])], ids=["one more team", "another team"])
async def test_requests_that_a_page_is_owed_are_told_when_its_teams_have_changed_unless_it_may_not_see_them(
    desk: Desk, teams: set[int], told: list[str]
) -> None:
    desk.tell(1, {"a": "1"})
    desk.wait(2.0)
    desk.tell(2, {"a": "2"}, wait=1, events=(event("d1"),))
    view = View("team", "atlas", frozenset(teams), frozenset())
    desk.rooms.move(desk.page, Admitted(view, SHOWN, news({"a": "3"}, wait=2, events=(event("d2"),))))
    await desk.sent()
    desk.acknowledge("1:1")
    (frame,) = await desk.sent()
    assert (frame["resync"], frame["wait"], [one["id"] for one in frame["events"]]) == (True, 2, told)
    assert "prev" not in frame, "a page that fetches itself asks for requests from the last frame that was no such word"


async def test_a_page_that_has_gone_is_owed_nothing(desk: Desk) -> None:
    desk.tell(1, {"a": "1"})
    desk.wait(2.0)
    desk.tell(2, {"a": "2"})
    assert desk.rooms.owed
    desk.rooms.out(desk.page)
    assert not desk.rooms.owed
    desk.acknowledge("1:1")
    assert [frame["seq"] for frame in await desk.sent()] == ["1:1"]


async def test_one_that_acknowledges_nothing_is_closed_at_last_and_no_heartbeat_moves_it_before(desk: Desk) -> None:
    desk.tell(1, {"a": "1"})
    desk.wait(2.0)
    desk.tell(2, {"a": "2"})
    desk.wait(30.0)
    desk.rooms.tick(module.time.monotonic(), sees=True)
    assert (desk.page.cursor, desk.page.closed) == ("1:1", False)
    desk.wait(31.0)
    desk.rooms.tick(module.time.monotonic(), sees=True)
    assert desk.page.closed
    assert not desk.rooms.owed
