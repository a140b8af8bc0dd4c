"""What a socket must show before it is opened: the exact origin of our own pages.

A browser sends the session cookie from any page; only `Origin` says which page it was. Channels' own validator ignores
scheme and port for plain host names, so: scheme, host and port must equal the request's own, or be one of
`settings.ORIGINS`; and the host must be one of `settings.ALLOWED_HOSTS` (a page of a rebound name has equal Origin and Host).
"""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]
DEFAULT_PORTS = {"http": "80", "https": "443"}


class ExactOrigin:
    """ASGI middleware: refuses the handshake (HTTP 403) of any other origin, and where there is none."""

    def __init__(self, inner: App) -> None:
        self.inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Pass the connection on, or close it before it is accepted."""
        if allowed(scope):
            await self.inner(scope, receive, send)
        else:
            await receive()
            await send({"type": "websocket.close", "code": 4403})


def allowed(scope: dict[str, Any]) -> bool:
    """Whether the connection comes from one of our own pages."""
    origins, hosts = _headers(scope, b"origin"), _headers(scope, b"host")
    if len(origins) != 1 or len(hosts) != 1:
        return False
    origin = _normal(origins[0])
    if origin is None:
        return False
    if origin in {_normal(ours) for ours in settings.ORIGINS}:
        return True
    name, _ = split_domain_port(hosts[0])
    secure = settings.HTTPS or scope.get("scheme") == "wss"
    own = _normal(f"{'https' if secure else 'http'}://{hosts[0]}")
    return bool(name) and validate_host(name, settings.ALLOWED_HOSTS) and origin == own


def _headers(scope: dict[str, Any], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope.get("headers", []) if key.lower() == name]


def _normal(origin: str) -> str | None:
    """Return `scheme://host:port` in small letters with the port written out, or None for what is no origin ("null")."""
    try:
        parts = urlsplit(origin.strip().lower())
        port = str(parts.port) if parts.port is not None else DEFAULT_PORTS.get(parts.scheme, "")
    except ValueError:
        return None
    extra = parts.path or parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or extra:
        return None
    return f"{parts.scheme}://{parts.hostname}:{port}"
