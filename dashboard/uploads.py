"""How much a request may bring, by its address: more is answered with 413 in words and never stored.

The file of a team may be large. That room has only who is signed in, for one file at a time; of anybody else as much is kept as
of any other request.

`Bounded` stands in front of Django, which would keep a body of any size in a file before it looks at it; under Daphne, which
does the same before anybody else is asked, `dashboard.spooling` holds that back, too. `TooLargeMiddleware` finds the words.
"""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from weakref import WeakValueDictionary

from django.conf import settings
from django.db import Error, connections
from django.http import HttpRequest, HttpResponse, JsonResponse, parse_cookie

from dashboard import problem
from dashboard.live import identity
from dashboard.security import sign_in_first
from dashboard.underway import Application, Receive, Scope, Send
from dashboard.views import errors
from tasks_app.domain.errors import TooLarge

IMPORTS = ("/teams/import/file/", "/api/teams/import")
"""The addresses that take the file of a team."""
FLAG = "crewdesk.too_large"
"""In the scope of a request whose body was counted to be too large: what there was of it has been dropped."""
UNITS = ((2**20, "MB"), (2**10, "kB"))
NOTHING = {"type": "http.request", "body": b"", "more_body": False}


def most(path: str) -> int:
    """Return how many bytes a request to this address may bring."""
    return settings.IMPORT_MB * 2**20 if path in IMPORTS else settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def ordinary(path: str) -> int:
    """Return how many bytes anybody may bring there, signed in or not."""
    return min(most(path), settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


async def whose(session_key: str) -> int | None:
    """Return whose session it is; None: nobody's who may sign in, or the database does not answer."""
    return await asyncio.to_thread(_account, session_key) if session_key else None


def _account(session_key: str) -> int | None:
    try:
        viewer = identity.viewer_of(session_key)
    except Error:
        return None
    finally:
        connections.close_all()
    return viewer.user_id if viewer else None


class Turns:
    """Of each account one large body at a time: the next one waits, and its bytes wait at its sender."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    def of(self, account: int) -> asyncio.Lock:
        """Return what is held for as long as a request with a large body is there."""
        return self._locks.setdefault(account, asyncio.Lock())


TURNS = Turns()


def too_much(limit: int) -> str:
    """Return the sentence that says how many bytes can be sent at once."""
    unit, name = next(((unit, name) for unit, name in UNITS if limit >= unit), (1, "bytes"))
    return f"At most {limit // unit:,} {name} can be sent at once."


def declared(scope: Scope) -> int:
    """Return the length that the request says it has; 0 where it says none."""
    said = dict(scope["headers"]).get(b"content-length", b"")
    return int(said) if said.isdigit() else 0


class Bounded:
    """An ASGI application that lets no body beyond `most` reach the one behind it, beyond `ordinary` none of nobody's.

    `turns`: whether it is here that one large body waits for another of the same account (Daphne has both before: `spooling`).
    """

    def __init__(self, application: Application, *, turns: bool = True) -> None:
        self._application, self._turns = application, turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; one that is too large arrives without its body and with `FLAG`."""
        if scope["path"] not in IMPORTS:
            return await self._serve(scope, receive, send, most(scope["path"]))
        account = await whose(_session(scope))
        if account is None:
            return await self._serve(scope, receive, send, ordinary(scope["path"]))
        async with TURNS.of(account) if self._turns else nullcontext():
            return await self._serve(scope, receive, send, most(scope["path"]))

    async def _serve(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        scope = {**scope, FLAG: declared(scope) > limit}
        counted, over = 0, False

        async def bounded() -> Any:
            nonlocal counted, over
            if scope[FLAG] and not over:
                over = True
                return NOTHING
            message = await receive()
            while over and message["type"] == "http.request":  # what is still on its way
                message = await receive()
            counted += len(message.get("body", b""))
            if over or counted <= limit:
                return message
            scope[FLAG] = over = True
            return NOTHING

        await self._application(scope, bounded, send)


def _session(scope: Scope) -> str:
    said = dict(scope["headers"]).get(b"cookie", b"").decode("latin-1")
    return parse_cookie(said).get(settings.SESSION_COOKIE_NAME, "")


class TooLargeMiddleware:
    """Answers 413 before anything reads the body. Behind those that say who is there: the page is as all others."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass on what is small enough."""
        limit = most(request.path)
        said = str(request.META.get("CONTENT_LENGTH") or "")
        if not (getattr(request, "scope", {}).get(FLAG) or (said.isdigit() and int(said) > limit)):
            return self.get_response(request)
        if request.path in IMPORTS and not (said.isdigit() and int(said) > limit) and not request.user.is_authenticated:
            return sign_in_first(request)  # it would not be too large for who is
        words = f"{too_much(limit)} Make it smaller and try again."
        if request.path.startswith("/api/"):
            return JsonResponse(problem.answer(TooLarge(words)), status=413)
        return errors.page(request, 413, message=words)
