"""Requests that are under way when the web process is asked to end are finished: nobody wonders whether a form arrived."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
PATIENCE_S = 5.0
"""A form takes well under a second; a request that takes longer than this is given up."""
QUIET_S = 0.1
"""So long must nothing be under way: what was accepted arrives, and the last answer leaves before its connection is closed."""


class Underway:
    """An ASGI application around another that knows how many requests it is serving."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._count = 0
        self._changed = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        self._count += 1
        self._changed.set()
        try:
            await self._application(scope, receive, send)
        finally:
            self._count -= 1
            self._changed.set()

    async def finished(self, *, patience_s: float = PATIENCE_S, quiet_s: float = QUIET_S) -> bool:
        """Return True once nothing has been under way for `quiet_s`, False after `patience_s`."""
        try:
            async with asyncio.timeout(patience_s):
                while self._count or await self._something_comes(quiet_s):
                    if self._count:
                        self._changed.clear()
                        await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def _something_comes(self, quiet_s: float) -> bool:
        self._changed.clear()
        try:
            async with asyncio.timeout(quiet_s):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True
