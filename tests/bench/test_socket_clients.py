"""Pages without a browser: the largest lateness is kept, a page that dies is said, the first step counts."""

import asyncio
import json
import time
from typing import Any

import pytest
import websockets.asyncio.server

from bench import fanout, marks, socket_clients


def orders(port: int, **more: Any) -> dict[str, Any]:
    return {
        "url": f"ws://127.0.0.1:{port}/",
        "origin": "http://127.0.0.1",
        "cookie": "",
        "since": "0",
        "shown": {},
        "clients": 2,
        "period_s": 1.0,
        "seconds": 0.4,
    } | more


async def seen_of(serve: Any, **more: Any) -> dict[str, Any]:
    async with websockets.asyncio.server.serve(serve, "127.0.0.1", 0) as server:
        return await socket_clients.main(orders(server.sockets[0].getsockname()[1], **more))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_clients, "QUIET_S", 0.0)


def frame(number: int) -> str:
    head = json.dumps({"seq": str(number), "prev": str(number - 1)})[:-1]
    return f'{head},"html":"{marks.text(number, "agent01", time.time())}"}}'


async def test_the_first_step_of_an_agent_counts_unless_it_was_on_the_page_before() -> None:
    async def say(socket: websockets.asyncio.server.ServerConnection) -> None:
        await socket.send(frame(1))
        await socket.wait_closed()

    found = await seen_of(say)
    assert (found["count"], found["last"], found["died"]) == (2, [{"agent01": 1}] * 2, {})
    assert (await seen_of(say, shown={"agent01": 1}))["count"] == 0


async def test_a_page_that_the_server_closes_is_a_failure_in_order_or_not() -> None:
    async def bye(socket: websockets.asyncio.server.ServerConnection) -> None:
        await socket.close(1000)

    async def crash(socket: websockets.asyncio.server.ServerConnection) -> None:
        socket.transport.abort()

    for end in (bye, crash):
        found = await seen_of(end)
        assert sum(found["died"].values()) == 2
        assert "2 pages ended before their time" in "".join(fanout.broken(found))


async def test_a_page_that_cannot_be_opened_is_a_failure() -> None:
    async def serve(_socket: websockets.asyncio.server.ServerConnection) -> None:
        return

    async with websockets.asyncio.server.serve(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
    found = await asyncio.wait_for(socket_clients.main(orders(port)), 10)
    assert sum(found["died"].values()) == 2


async def test_what_a_page_cannot_read_ends_it_in_words() -> None:
    async def babble(socket: websockets.asyncio.server.ServerConnection) -> None:
        await socket.send("{")
        await socket.wait_closed()

    assert any("JSONDecodeError" in words for words in (await seen_of(babble))["died"])


def test_the_largest_sample_is_kept_when_there_are_too_many() -> None:
    late = [float(n) for n in range(10_007)]
    kept = socket_clients.thinned(late)
    assert len(kept) <= 5_004
    assert kept[-1] == 10_006
    assert kept == sorted(kept)


def test_steps_that_were_never_shown_are_counted() -> None:
    said = {"last": [{"agent01": 7, "agent02": 4}, {"agent01": 5}], "gaps": 0, "died": {}}
    assert fanout.lost(said, {"agent01": 7, "agent02": 4}) == ["6 steps were never shown by 1 pages"]
    assert fanout.lost(said | {"last": [{"agent01": 7}]}, {"agent01": 7}) == []


async def test_a_page_that_does_not_leave_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_clients, "LEAVE_S", 0.1)

    async def live(self: Any, gate: Any, ready: "asyncio.Queue[None]", until: Any) -> None:
        ready.put_nowait(None)
        await asyncio.sleep(30)

    monkeypatch.setattr(socket_clients.Client, "live", live)
    found = await asyncio.wait_for(socket_clients.main(orders(1)), 10)
    assert found["died"] == {"it did not leave within 0.1 s": 2}


async def test_pages_that_do_not_connect_are_waited_for_once_not_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_clients, "READY_S", 0.3)
    turn = iter(range(1, 100))

    async def live(self: Any, gate: Any, ready: "asyncio.Queue[None]", until: Any) -> None:
        await asyncio.sleep(0.2 * next(turn))  # each comes within the bound after the one before
        ready.put_nowait(None)

    monkeypatch.setattr(socket_clients.Client, "live", live)
    with pytest.raises(TimeoutError):
        await socket_clients.main(orders(1, clients=5))
