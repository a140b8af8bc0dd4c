"""How much a request may bring, whatever its address and whoever sends it: more is answered with 413 in words and never stored.

`Bounded` stands in front of Django, which would keep a body of any size in a file before it looks at it; under Daphne, which
does the same before anybody else is asked, `dashboard.spooling` holds that back, too. `TooLargeMiddleware` finds the words.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from dashboard import problem
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


def too_much(limit: int) -> str:
    """Return the sentence that says how many bytes can be sent at once."""
    unit, name = next(((unit, name) for unit, name in UNITS if limit >= unit), (1, "bytes"))
    return f"At most {limit // unit:,} {name} can be sent at once."


def declared(scope: Scope) -> int:
    """Return the length that the request says it has; 0 where it says none."""
    said = dict(scope["headers"]).get(b"content-length", b"")
    return int(said) if said.isdigit() else 0


class Bounded:
    """An ASGI application that lets no body beyond `most` reach the one behind it."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; one that is too large arrives without its body and with `FLAG`."""
        limit = most(scope["path"])
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
        words = f"{too_much(limit)} Make it smaller and try again."
        if request.path.startswith("/api/"):
            return JsonResponse(problem.answer(TooLarge(words)), status=413)
        return errors.page(request, 413, message=words)
