"""Who asks, where a proxy stands in front: what it says in `X-Forwarded-For`, believed from the proxy of the settings alone.

Without it all people share the proxy's address, and ten wrong passwords of anybody would lock a name for everybody; believed
from anybody, the header would give a guesser a new address for each guess.
"""

import asyncio
import ipaddress
import re
import socket
import time
from collections.abc import Iterable
from typing import Final

from dashboard.underway import Application, Receive, Scope, Send

KEPT_S = 10.0
"""A name is resolved again after so long: a container that is replaced may come back under another address."""

WITH_PORT: Final = re.compile(r"\A(?:\[([^\]]*)\](?::\d{1,5})?|([^:]*):\d{1,5})\Z", re.ASCII)

NO_SUCH_NAME: Final = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})
"""Its address may be another container's by now."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Forwarded:
    """An ASGI application that tells the one behind it the address of the person instead of the proxy's.

    `proxies` are addresses, networks (`10.0.0.0/8`) or host names.
    """

    def __init__(self, application: Application, proxies: Iterable[str]) -> None:
        self._application = application
        parsed = {word: _network(word) for word in proxies}
        self._fixed = [network for network in parsed.values() if network is not None]
        self._names = [word for word, network in parsed.items() if network is None]
        self._resolved: dict[str, frozenset[Address]] = {}
        self._asked_at: float | None = None
        self._asking = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        said = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
        peer = _address(str((scope.get("client") or [""])[0]))
        if said and peer is not None and await self._is_proxy(peer):
            # the last one is what the proxy itself has seen; whatever stands before it anybody may have written
            person = _address(said[-1].decode("latin-1").rpartition(",")[2])
            if person is not None:
                scope = {**scope, "client": [str(person), 0]}
        await self._application(scope, receive, send)

    async def _is_proxy(self, peer: Address) -> bool:
        if any(peer in network for network in self._fixed):
            return True
        if self._names and self._is_due() and (not any(self._resolved.values()) or not self._asking.locked()):
            async with self._asking:  # where nothing is known, whoever comes meanwhile waits for it, too
                if self._is_due():
                    await self._look_up()
        return any(peer in found for found in self._resolved.values())

    def _is_due(self) -> bool:
        return self._asked_at is None or time.monotonic() - self._asked_at > KEPT_S

    async def _look_up(self) -> None:
        found = {name: await _resolve(name) for name in self._names}
        self._resolved |= {name: addresses for name, addresses in found.items() if addresses is not None}
        self._asked_at = time.monotonic()


def _network(word: str) -> Network | None:
    try:
        return ipaddress.ip_network(word, strict=False)
    except ValueError:
        return None


def _address(text: str) -> Address | None:
    """Some proxies write the port with it: `192.0.2.7:51234`, `[2001:db8::7]:443`."""
    try:
        found = ipaddress.ip_address(WITH_PORT.sub(r"\1\2", text.strip()))
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


async def _resolve(name: str) -> frozenset[Address] | None:
    """Return the addresses of a name, none where there is no such name; None: the name server is away, what was known stays."""
    try:
        rows = await asyncio.get_running_loop().getaddrinfo(name, None)
    except UnicodeError:  # a name that no name server can have
        return frozenset()
    except OSError as error:
        return frozenset() if error.errno in NO_SUCH_NAME else None
    return frozenset(found for row in rows if (found := _address(str(row[4][0]))) is not None)
