"""The live socket when something fails: Valkey dies or hangs, a client never reads, a panel breaks, the server stops."""

import asyncio
import contextlib
import json
import signal
import socket
import sqlite3
import time
from collections.abc import Iterator

import pytest

from tests.dashboard.live_support import World, running_world
from tests.services_fixtures import Page, Valkey, running_valkey

pytest_plugins = ["tests.services_fixtures"]


@pytest.fixture(scope="module")
def own_valkey() -> Iterator[Valkey]:
    with running_valkey() as server:
        yield server


@pytest.fixture(scope="module")
def world(own_valkey: Valkey) -> Iterator[World]:
    with running_world(own_valkey.url, sweep_s=1.0, behind_s=6.0, unacked_frames=20, unacked_bytes=100_000) as world:
        yield world


def card(world: World, n: int) -> str:
    return f"task-{world.tasks[n]}"


async def changed(world: World, page: Page, title: str, *, patience_s: float = 10.0) -> float:
    """Return how long a change took to arrive."""
    started = time.monotonic()
    world("rename", world.tasks[0], title)
    await page.until(lambda frame: title in str(frame.get("html")), patience_s=patience_s)
    return time.monotonic() - started


async def test_valkey_killed_and_restarted_goes_on(world: World, own_valkey: Valkey) -> None:
    async with world.open("lead", world.load("lead")) as page:
        await page.next()
        assert await changed(world, page, "before") < 1.5
        own_valkey.kill()
        assert await changed(world, page, "while it is down") < 4
        own_valkey.start()
        deadline = time.monotonic() + 15
        while (took := await changed(world, page, f"after {time.monotonic()}")) > 0.6:
            assert time.monotonic() < deadline, f"hints do not arrive again: {took:.1f} s"
    assert "Traceback" not in world.server.log.read_text()


async def test_a_page_that_comes_while_valkey_is_down_is_served(world: World, own_valkey: Valkey) -> None:
    own_valkey.kill()
    try:
        async with world.open("lead", world.load("lead")) as page:
            await page.next()
            assert await changed(world, page, "no hints at all") < 4
    finally:
        own_valkey.start()


async def test_a_valkey_that_hangs_costs_no_more_than_the_slow_timer(world: World, own_valkey: Valkey) -> None:
    async with world.open("lead", world.load("lead")) as page:
        await page.next()
        own_valkey.freeze()
        try:
            assert await changed(world, page, "it hangs") < 5
        finally:
            own_valkey.thaw()


async def test_a_client_that_never_reads_costs_bounded_memory_is_closed_and_disturbs_nobody(world: World) -> None:
    silent = raw_socket(world)
    async with world.open("lead", world.load("lead")) as page:
        await page.next()
        before = world.server.rss()
        for n in range(30):
            assert await changed(world, page, f"{n} " + "x" * 190) < 3
            world("describe", world.tasks[0], "y" * 60_000)
        assert world.server.rss() - before < 30_000_000
        assert await asyncio.to_thread(gone, silent, 15.0)
        assert await changed(world, page, "others go on") < 2
    silent.close()


async def test_a_client_that_is_slow_for_a_while_gets_what_it_missed_in_one_frame_and_goes_on(world: World) -> None:
    async with world.open("lead", world.load("lead")) as page, world.open("lead", world.load("lead")) as other:
        await other.next()
        page.acknowledges = False
        await page.next()
        for n in range(23):
            await changed(world, other, f"too fast {n}")
            with contextlib.suppress(TimeoutError):
                await page.next(patience_s=0.05)
        page.acknowledges, stood = True, page.seq
        await page.socket.send(json.dumps({"ack": page.seq}))
        frame = await page.until(lambda frame: "too fast 22" in str(frame.get("html")))
        assert (frame["prev"], frame["seq"]) == (stood, world.load("lead").seq)
        assert await changed(world, page, "in step again") < 2
        assert not any(one.get("resync") for one in page.frames)


async def test_a_large_change_arrives_what_no_frame_takes_is_fetched_and_the_page_goes_on(world: World) -> None:
    async with world.open("lead", world.load("lead")) as page:
        await page.next()
        for size in (70_000, 800_000):
            world("describe", world.tasks[0], "z" * size)
            await page.until(lambda frame, size=size: "z" * size in str(frame.get("html")))
        world("describe", world.tasks[0], "z" * 1_100_000)
        frame = await page.until(lambda frame: frame.get("resync"))
        assert frame["seq"] == world.load("lead").seq
        world("describe", world.tasks[0], "short")
        await page.until(lambda frame: "short" in str(frame.get("html")))


async def test_a_panel_that_fails_is_left_out_logged_without_secrets_and_asks_for_a_fetch(world: World) -> None:
    async with world.open("lead", world.load("lead")) as page:
        await page.next()
        world("rename_unlogged", world.tasks[1], "broken")
        world("touch", world.tasks[1])
        world("rename", world.tasks[0], "the others go on")
        await page.until(lambda frame: frame.get("resync"))
        world("rename", world.tasks[0], "and on")
        await page.until(lambda frame: "and on" in str(frame.get("html")))
        world("rename", world.tasks[1], "mended")
        await page.until(lambda frame: "mended" in str(frame.get("html")))
        assert sum(bool(frame.get("resync")) for frame in page.frames) == 1
    log = world.server.log.read_text()
    assert "panel card failed" in log
    assert "hunter2" not in log


async def test_what_changes_without_an_event_shows_within_the_sweep_and_only_what_changed(world: World) -> None:
    async with world.open("lead", world.load("lead")) as page:
        await page.next()
        await asyncio.sleep(2.5)  # the first sweep after a page has come sends everything once
        while True:
            with contextlib.suppress(TimeoutError):
                await page.next(patience_s=0.2)
                continue
            break
        world("rename_unlogged", world.tasks[2], "lost by the clock")
        frame = await page.until(lambda frame: "html" in frame)
        assert set(frame["html"]) == {card(world, 2)}


async def test_a_locked_database_delays_but_loses_nothing(world: World) -> None:
    async with world.open("lead", world.load("lead")) as page:
        await page.next()
        world("rename_silently", world.tasks[0], "under lock")
        with contextlib.closing(sqlite3.connect(world.server.home / "crewdesk.sqlite3")) as other:
            other.execute("BEGIN EXCLUSIVE")
            await asyncio.sleep(1)
            other.rollback()
        await page.until(lambda frame: "under lock" in str(frame.get("html")))


async def test_a_stopping_server_says_goodbye_and_a_restarted_one_takes_the_page_back(world: World) -> None:
    dom = world.load("lead")
    async with world.open("lead", dom) as page:
        await page.next()
        started = time.monotonic()
        code = await asyncio.to_thread(world.server.stop, how=signal.SIGTERM)
        assert time.monotonic() - started < 8
        assert code in {0, -signal.SIGTERM}
        assert await page.closed() == 4001, world.server.log.read_text()
    world("rename", world.tasks[0], "while the server was away")
    await asyncio.to_thread(world.server.start)
    async with world.open("lead", dom) as page:
        dom.apply(await page.next())
        assert dom.main == world.load("lead").main
    log = world.server.log.read_text()
    assert "was destroyed but it is pending" not in log
    assert "never retrieved" not in log


def raw_socket(world: World) -> socket.socket:
    """Open the socket by hand and never read from it (its buffers are small)."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect(("127.0.0.1", world.server.port))
    since = world.load("lead").seq
    lines = (
        f"GET /live/?page=team&arg=atlas&since={since} HTTP/1.1",
        f"Host: 127.0.0.1:{world.server.port}",
        f"Origin: {world.server.url}",
        f"Cookie: crewdesk_session={world.session('lead')}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    raw.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    return raw


def gone(raw: socket.socket, patience_s: float) -> bool:
    """Whether the server has ended the connection: what is left can be read to its end."""
    raw.settimeout(patience_s)
    end = time.monotonic() + patience_s
    with contextlib.suppress(TimeoutError):
        while time.monotonic() < end:
            try:
                if not raw.recv(65536):
                    return True
            except ConnectionError:
                return True
    return False
