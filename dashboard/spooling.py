"""Daphne keeps the body of each request in memory or in a file before it asks anybody: here it keeps no more than is taken.

What is beyond is read and dropped, so that the sender gets the answer, a page in words (`dashboard.uploads`). Whoever sends
without end is cut off.
"""

import sys
from typing import Any
from urllib.parse import unquote

from dashboard import uploads

DRAINED = 64 * 2**20
"""So many bytes beyond the limit are read for the sake of the answer: a browser shows none while it still sends."""


def bound() -> None:
    """Where the process is Daphne's: have its requests hold back bodies. Called once per process, at import."""
    protocol: Any = sys.modules.get("daphne.http_protocol")
    if protocol is not None:
        protocol.WebRequest = _bounded(protocol.WebRequest)  # each connection looks the name up when it begins


def _bounded(base: Any) -> Any:
    """Return Daphne's kind of request with the two methods of Twisted's replaced that take a body."""

    class BoundedRequest(base):  # type: ignore[misc]  # it is known when the process runs
        """A request that keeps one byte more than is taken at most: enough for whoever counts."""

        def gotLength(self, length: int | None) -> None:
            """The headers are there: `length` is what they say, None for chunks."""
            path = unquote(self.channel._path.partition(b"?")[0].decode("latin-1"))
            self._most, self._got = uploads.most(path), 0
            self._keeps = 0 if length is not None and length > self._most else self._most + 1
            super().gotLength(0 if not self._keeps else length)

        def handleContentChunk(self, data: bytes) -> None:
            """Keep what there is room for."""
            super().handleContentChunk(data[: max(0, self._keeps - self._got)])
            self._got += len(data)
            if self._got > self._most + DRAINED:
                self.channel.transport.abortConnection()

    return BoundedRequest
