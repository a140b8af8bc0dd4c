"""The end of the web process: nothing new is accepted, open pages are told, requests under way are finished. Then it stops.

For daphne (Twisted), which would cut requests off, and for the ASGI lifespan of other servers, which daphne does not know.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from dashboard.live import hub
from dashboard.underway import Underway

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
LEAVES_S = 8.0
"""So long after the signal the process is gone, whatever still hangs: a thread may wait for a database or for our own loop."""


def watch(pages: Underway) -> None:
    """Where the process runs on Twisted's reactor: leave in order on a signal. Called once per process, at import."""
    if "daphne.server" in sys.modules:
        reactor: Any = sys.modules["twisted.internet.reactor"]
        reactor.callWhenRunning(_Leaving(reactor, pages).install)


class _Leaving:
    """Takes the place of Twisted's own handlers, which stop at once; so does a second signal."""

    def __init__(self, reactor: Any, pages: Underway) -> None:
        self._reactor, self._pages = reactor, pages
        self._task: asyncio.Task[None] | None = None

    def install(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._reactor.callFromThread(self._asked))

    def _asked(self) -> None:
        if self._task is not None:
            self._reactor.stop()
            return
        last_resort = threading.Timer(LEAVES_S, os._exit, (0,))
        last_resort.daemon = True  # it does not keep a process that has ended by itself
        last_resort.start()
        for port in [each for each in self._reactor.getReaders() if hasattr(each, "stopListening")]:
            port.stopListening()  # a socket that is shared goes on in the other processes
        self._task = asyncio.ensure_future(self._leave())

    async def _leave(self) -> None:
        try:
            await asyncio.gather(hub.current().goodbye(), self._pages.finished())
            self._hang_up()
            await self._pages.finished()  # a request that came just before is not cut off
        finally:
            self._reactor.stop()

    def _hang_up(self) -> None:
        """Close connections that are kept for a next request: whoever sends it connects anew, to a process that stays."""
        for connection in self._reactor.getReaders():
            channel = getattr(getattr(connection, "protocol", None), "_channel", None)  # Twisted's HTTP; a socket has none
            if not getattr(channel, "requests", True):
                connection.loseConnection()


async def lifespan(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """Serve the ASGI lifespan of other servers (uvicorn); they finish requests by themselves."""
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await hub.current().goodbye()
    await send({"type": "lifespan.shutdown.complete"})
