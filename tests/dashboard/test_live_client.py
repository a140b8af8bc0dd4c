"""Credit: what a page is sent, what it has acknowledged, when it gets nothing more."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from dashboard.live.client import Client, Ticket
from dashboard.live.consumer import LiveConsumer
from dashboard.live.frames import BadFrame, Close
from dashboard.live.pace import Pace

PACE = replace(Pace(), unacked_frames=10, unacked_bytes=1000, client_frames=50)


class Wire:
    """Keeps what was sent; `stuck` never sends."""

    def __init__(self, *, stuck: bool = False) -> None:
        self.sent: list[dict[str, Any]] = []
        self.stuck = stuck

    async def send(self, message: dict[str, Any]) -> None:
        if self.stuck:
            await asyncio.Event().wait()
        self.sent.append(message)


def client(wire: Wire | None = None) -> Client:
    return Client(Ticket("s", "team", "atlas", "1:0"), (wire or Wire()).send, PACE)


def test_a_client_without_credit_gets_nothing_more() -> None:
    one = client()
    assert [one.say("x", f"1:{n}") for n in range(12)] == [True] * 10 + [False] * 2
    assert one.behind_since is not None
    assert one.cursor == "1:9"


def test_bytes_count_too_but_one_large_frame_always_passes() -> None:
    one = client()
    assert one.say("x" * 5000, "1:1")
    assert not one.say("x", "1:2")
    assert one.acknowledge("1:1")
    assert one.say("é" * 400, "1:3")
    assert not one.say("é" * 400, "1:4")


def test_credit_comes_back_with_an_acknowledgement_and_a_client_that_was_behind_is_told_once() -> None:
    one = client()
    for n in range(11):
        one.say("x", f"1:{n}")
    assert not one.acknowledge("1:2")  # not enough yet
    assert one.acknowledge("1:7")
    assert not one.acknowledge("1:8")
    assert one.behind_since is None
    assert one.say("x", "1:12")


def test_who_acknowledges_what_it_heard_last_owes_nothing_though_several_frames_have_that_cursor() -> None:
    one = client()
    for n in range(11):
        one.say("x" * 90, f"1:{n // 4}")
    assert one.behind_since is not None
    assert one.acknowledge("1:2")
    assert all(one.say("x" * 90, "1:2") for _ in range(10))


@pytest.mark.parametrize("cursor", ["", "9:9", "1:99"])
def test_an_acknowledgement_of_something_never_sent_gives_nothing(cursor: str) -> None:
    one = client()
    for n in range(10):
        one.say("x", f"1:{n}")
    one.acknowledge(cursor)
    assert not one.say("x", "1:10")


def test_too_many_acknowledgements_are_a_bad_frame() -> None:
    one = client()
    for _ in range(50):
        one.acknowledge("x")
    with pytest.raises(BadFrame, match="more than 50 frames"):
        one.acknowledge("x")


async def test_frames_leave_in_order_and_a_close_says_why_last() -> None:
    wire = Wire()
    one = client(wire)
    pump = asyncio.ensure_future(one.pump())
    one.say("a", "1:1")
    one.say("b", "1:2")
    one.close(Close.NOT_ALLOWED, "no")
    one.close(Close.BROKEN, "not this one")
    assert not one.say("c", "1:3")
    await asyncio.wait_for(pump, 5)
    assert [message.get("text") for message in wire.sent[:2]] == ["a", "b"]
    assert json.loads(wire.sent[2]["text"]) == {"error": "no"}
    assert (wire.sent[3]["type"], wire.sent[3]["code"]) == ("websocket.close", 4403)


async def test_a_client_that_was_too_slow_is_not_sent_its_queue_first() -> None:
    wire = Wire()
    one = client(wire)
    for n in range(10):
        one.say("x", f"1:{n}")
    one.close(Close.TOO_SLOW, "slow")
    await asyncio.wait_for(one.pump(), 5)
    assert [message["type"] for message in wire.sent] == ["websocket.close"]


async def test_a_page_whose_frame_cannot_be_sent_is_closed_so_that_it_comes_back() -> None:
    said: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        said.append(message)
        if "text" in message:
            raise ValueError("tried to send WebSocket message with size 80000")

    consumer = LiveConsumer()
    consumer.base_send = send
    one = Client(Ticket("s", "team", "atlas", "1:0"), consumer.send, PACE)
    one.say("x", "1:1")
    await asyncio.wait_for(consumer._pump(one), 5)
    assert said[-1] == {"type": "websocket.close", "code": Close.BROKEN}


async def test_a_socket_that_does_not_send_holds_a_bounded_queue() -> None:
    one = client(Wire(stuck=True))
    pump = asyncio.ensure_future(one.pump())
    for n in range(1000):
        one.say("x" * 50, f"1:{n}")
        await asyncio.sleep(0)
    assert len(one._queue) <= 10
    pump.cancel()
