"""Daphne keeps the body of each request in memory or in a file before it asks anybody: here it keeps no more than is taken.

What is beyond is read and dropped, so that the sender gets the answer, a page in words (`dashboard.uploads`). Whoever sends
without end is cut off.
"""

import asyncio
import sys
from typing import Any
from urllib.parse import unquote

from django.conf import settings

from dashboard import uploads

DRAINED = 64 * 2**20
"""So many bytes beyond the limit are read for the sake of the answer: a browser shows none while it still sends."""


def bound() -> bool:
    """Where the process is Daphne's: have its requests hold back bodies, and return True. Called once per process, at import."""
    protocol: Any = sys.modules.get("daphne.http_protocol")
    if protocol is not None:
        protocol.WebRequest = _bounded(protocol.WebRequest)  # each connection looks the name up when it begins
    return protocol is not None


def _bounded(base: Any) -> Any:
    """Return Daphne's kind of request with the two methods of Twisted's replaced that take a body.

    Of the file of a team no more is read than anybody may send, until it is known who sends it and that no other one of the same
    account is there.
    """

    class BoundedRequest(base):  # type: ignore[misc]  # it is known when the process runs
        """A request that keeps one byte more than is taken at most: enough for whoever counts."""

        def gotLength(self, length: int | None) -> None:
            """The headers are there: `length` is what they say, None for chunks."""
            path = unquote(self.channel._path.partition(b"?")[0].decode("latin-1"))
            self._most, self._got = uploads.most(path), 0
            few = uploads.ordinary(path)
            self._keeps = 0 if length is not None and length > self._most else few + 1
            super().gotLength(0 if not self._keeps else length)
            if self._keeps and self._most > few and (length is None or length > few):
                self.channel._networkProducer.pauseProducing()
                over = asyncio.Event()
                self.notifyFinish().addBoth(lambda _: over.set())
                self._turn = asyncio.ensure_future(_take_turn(self, few, self.channel, over))

        def handleContentChunk(self, data: bytes) -> None:
            """Keep what there is room for."""
            super().handleContentChunk(data[: max(0, self._keeps - self._got)])
            self._got += len(data)
            if self._got > self._most + DRAINED:
                self.channel.transport.abortConnection()

    return BoundedRequest


async def _take_turn(request: Any, few: int, channel: Any, over: asyncio.Event) -> None:
    """Let the whole body come, once it may. `over`: the request has been answered, or its sender is gone."""
    session = (request.getCookie(settings.SESSION_COOKIE_NAME.encode()) or b"").decode("latin-1")
    account = await uploads.whose(session)
    if account is None:
        request._most = few
        _read_on(channel, over)
        return
    async with uploads.TURNS.of(account):
        if not over.is_set():
            request._keeps = request._most + 1
            _read_on(channel, over)
            await over.wait()


def _read_on(channel: Any, over: asyncio.Event) -> None:
    """Not where the whole body is there, or nobody any more: then Twisted itself reads on when it is time."""
    if not over.is_set() and not channel._handlingRequest:
        channel._networkProducer.resumeProducing()
