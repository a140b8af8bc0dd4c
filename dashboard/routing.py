"""The addresses of sockets: one."""

from typing import Any

from channels.routing import URLRouter
from channels.sessions import CookieMiddleware
from django.urls import re_path

from dashboard.live.consumer import LiveConsumer
from dashboard.live.guard import ExactOrigin, Receive, Send


async def nothing(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """Refuse the handshake: there is no socket at this address."""
    await receive()
    await send({"type": "websocket.close", "code": 4404})


websocket = ExactOrigin(CookieMiddleware(URLRouter([re_path(r"^live/$", LiveConsumer.as_asgi()), re_path(r"", nothing)])))  # type: ignore[arg-type]
"""Origin first, then the session cookie; who that is, and what may be seen, the hub asks when the page joins (and again)."""
