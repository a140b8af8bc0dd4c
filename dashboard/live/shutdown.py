"""The end of the web process: open pages are told, the hub's tasks are ended. For daphne (Twisted) and for ASGI lifespan.

daphne cancels its applications before it stops, but fails to where an HTTP request has just ended (a KeyError in
`kill_all_applications`, daphne 4.2.3), and knows no lifespan. So the hub adds a trigger of its own to Twisted's reactor.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from dashboard.live import hub

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


def watch() -> None:
    """Where the process runs on Twisted's reactor: say goodbye before it stops. Called once per process, at import."""
    if "daphne.server" in sys.modules:
        reactor: Any = sys.modules["twisted.internet.reactor"]
        reactor.addSystemEventTrigger("before", "shutdown", _before_shutdown)


def _before_shutdown() -> Any:
    deferred: Any = sys.modules["twisted.internet.defer"].Deferred
    return deferred.fromFuture(asyncio.ensure_future(hub.current().goodbye()))


async def lifespan(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """Serve the ASGI lifespan of other servers (uvicorn)."""
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await hub.current().goodbye()
    await send({"type": "lifespan.shutdown.complete"})
