"""The end of the web process waits for the requests that are under way, and not for ever."""

import asyncio
from typing import Any

import pytest

from dashboard.underway import Underway


class Slow:
    """An application that answers when it is let go."""

    def __init__(self) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        self.begun.set()
        await self.go.wait()


@pytest.fixture
def slow() -> Slow:
    return Slow()


def serve(pages: Underway) -> asyncio.Task[None]:
    return asyncio.ensure_future(pages({}, None, None))  # type: ignore[arg-type]


async def test_the_end_waits_for_what_is_under_way(slow: Slow) -> None:
    pages = Underway(slow)
    request = serve(pages)
    await slow.begun.wait()
    ended = asyncio.ensure_future(pages.finished(quiet_s=0.01))
    await asyncio.wait([ended], timeout=0.05)
    assert not ended.done()
    slow.go.set()
    assert await ended
    assert request.done()


async def test_a_request_that_comes_while_it_is_quiet_is_waited_for_too(slow: Slow) -> None:
    pages = Underway(slow)
    ended = asyncio.ensure_future(pages.finished(quiet_s=0.05))
    await asyncio.sleep(0)
    request = serve(pages)
    await asyncio.wait([ended], timeout=0.1)
    assert not ended.done()
    slow.go.set()
    assert await ended
    assert request.done()


async def test_a_request_that_comes_and_goes_at_once_does_not_keep_the_end_waiting(slow: Slow) -> None:
    slow.go.set()
    pages = Underway(slow)
    ended = asyncio.ensure_future(pages.finished(quiet_s=0.02, patience_s=1))
    await asyncio.sleep(0)
    await serve(pages)
    assert await ended


async def test_a_request_that_never_ends_is_given_up(slow: Slow) -> None:
    pages = Underway(slow)
    request = serve(pages)
    await slow.begun.wait()
    assert not await pages.finished(patience_s=0.01)
    request.cancel()


async def test_a_request_that_failed_is_over() -> None:
    async def broken(scope: dict[str, Any], receive: Any, send: Any) -> None:
        raise RuntimeError

    pages = Underway(broken)
    with pytest.raises(RuntimeError):
        await serve(pages)
    assert await pages.finished(quiet_s=0)
