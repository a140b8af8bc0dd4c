"""The consumer: one per open page, between the socket and the hub. It only reads credit; every write is an HTTP POST."""

import asyncio
import contextlib
import logging
import re
import traceback
from typing import Any
from urllib.parse import parse_qs

from channels.consumer import AsyncConsumer, get_handler_name
from channels.exceptions import StopConsumer
from django.conf import settings

from dashboard.live import frames, hub
from dashboard.live.client import Client, Ticket
from dashboard.live.frames import BadFrame, Close
from tasks_app.domain.text import mask_secrets

logger = logging.getLogger(__name__)
MAX_QUERY_BYTES = 16_384
_PAGE = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)
_ARG = re.compile(r"[\w .@+~-]{0,200}")


class LiveConsumer(AsyncConsumer):  # type: ignore[misc]
    """`/live/?page=<page>&arg=<arg>&since=<cursor>&heard=<cursor>`: frames out, `{"ack": "<cursor>"}` in.

    Closes with the codes of `frames.Close`; before an error code a frame `{"error": "<reason>"}` says why.
    """

    client: Client | None = None
    pump: asyncio.Task[None] | None = None

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one socket to its end, whatever ends it. Channels' own loop makes a task for each message, for its layers."""
        self.scope, self.base_send = scope, send
        try:
            while True:
                await self.dispatch(await receive())
        except StopConsumer:
            return
        finally:
            if self.client:
                hub.current().leave(self.client)
            if self.pump:
                self.pump.cancel()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the handler. Channels' own would hop to a thread for each message to close database connections."""
        handler = getattr(self, get_handler_name(message), None)
        try:
            if handler:
                await handler(message)
        except BadFrame as error:
            await self._end(Close.BAD_FRAME, str(error))
        except StopConsumer:
            raise
        except Exception as error:
            logger.error("a live socket failed: %s", mask_secrets("".join(traceback.format_exception(error))))
            await self._end(Close.BROKEN, "the server made an error")

    async def websocket_connect(self, message: dict[str, Any]) -> None:
        """Accept at once (a page can only read a close code after that) and let the hub say who may stay."""
        await self.send({"type": "websocket.accept"})
        ticket = _ticket(self.scope)
        self.client = Client(ticket, self.send, hub.current().pace)
        self.pump = asyncio.ensure_future(self._pump(self.client))
        if ticket.session_key:
            hub.current().join(self.client)
        else:
            await self._end(Close.SIGNED_OUT, "not signed in")

    async def _pump(self, client: Client) -> None:
        """Send until the end. A peer that is gone raises, as each server likes; whoever is still there must not wait in vain."""
        try:
            await client.pump()
        except Exception as error:
            logger.warning("a live socket cannot send: %s", type(error).__name__)
            hub.current().leave(client)
            with contextlib.suppress(Exception):
                await self.send({"type": "websocket.close", "code": int(Close.BROKEN)})

    async def websocket_receive(self, message: dict[str, Any]) -> None:
        """Take credit; anything else ends the socket with 4400 and the reason."""
        if self.client and not self.client.closed:
            hub.current().acknowledge(self.client, frames.parse_ack(message.get("text"), message.get("bytes")))

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        """The page is gone."""
        raise StopConsumer

    async def _end(self, code: Close, reason: str) -> None:
        if self.client:
            hub.current().leave(self.client)
            self.client.close(code, reason)
        else:
            await self.send({"type": "websocket.send", "text": frames.error(reason)})
            await self.send({"type": "websocket.close", "code": int(code), "reason": reason[:120]})


def _ticket(scope: dict[str, Any]) -> Ticket:
    """Return what the page asks for; raises BadFrame naming the field."""
    query = scope.get("query_string", b"")
    if len(query) > MAX_QUERY_BYTES:
        raise BadFrame(f"the address is over {MAX_QUERY_BYTES} bytes")
    try:
        fields = parse_qs(query.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=10)
    except ValueError:
        raise BadFrame("the address has more than 10 fields") from None
    values = {name: (fields.get(name) or [""])[-1] for name in ("page", "arg", "since", "heard")}
    if not _PAGE.fullmatch(values["page"]):
        raise BadFrame("page: a page's name is missing or malformed")
    if not _ARG.fullmatch(values["arg"]):
        raise BadFrame("arg: at most 200 letters, digits and . _ - @ + ~")
    session = scope.get("cookies", {}).get(settings.SESSION_COOKIE_NAME, "")
    return Ticket(session, values["page"], values["arg"], values["since"], values["heard"])
