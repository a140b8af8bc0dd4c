"""Error pages in words; none of them needs the database."""

import contextlib
import sys
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve

from dashboard import problem
from dashboard.idempotency import FIELD
from tasks_app.execution.db import is_away

WORDS: dict[int, tuple[str, str]] = {
    400: ("This request cannot be read", "Something in it is damaged. Go back and try again."),
    403: ("You may not do this", "Your account may see this, but not change it. Ask a lead of the team."),
    404: ("Not found", "There is no such page. It may have been removed, or you have no access to it."),
    409: ("This changed while you read it", "Reload the page to see how it is now."),
    413: ("That is too large", "At most 2 MB can be sent at once. Make it smaller and try again."),
    422: ("Something is missing or wrong", "Go back, correct the form and send it again."),
    429: ("Too many attempts", "Wait a quarter of an hour, then try again."),
    500: ("Something broke on our side", "Nothing you entered was used. The log of the web server says what happened."),
    503: ("A part of Crewdesk does not answer", "Agents may still run. Try again in a moment."),
}
RETRY_S = "3"
"""When to look again, in seconds."""
NO_DATABASE_WORDS = (
    "The database does not answer",
    "It may be restarting. Look in a moment whether what you sent is there before you send it again. Agents may still run.",
)


KEPT_WORDS = (
    "Whether it was done is not known. What you sent is kept here: sent again it is done once, whether or not it had arrived."
)


def page(request: HttpRequest, status: int, *, message: str = "") -> HttpResponse:
    """Return the error page of a status. `message` says more exactly what happened and what to do, and takes the words' place."""
    title, hint = WORDS.get(status, WORDS[400 if status < 500 else 500])
    context = {"title": title, "words": message or hint, "hint": hint if message and status >= 500 else "", "status": status}
    context["back"] = parent(request.path) if status == 413 else ""
    return render(request, "pages/error.html", context, status=status)


def parent(path: str) -> str:
    """Return the page to which the address of a form belongs: `/teams/new/` of `/teams/new/plan/`; `/` where there is none."""
    above = path.rstrip("/").rsplit("/", 1)[0] + "/"
    try:
        resolve(above)
    except Resolver404:
        return "/"
    return above


@login_not_required
def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400, or 413 where the body was too large."""
    return page(request, 413 if isinstance(exception, RequestDataTooBig) else 400)


@login_not_required
def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403."""
    return page(request, 403)


@login_not_required
def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    return page(request, 404)


@login_not_required
def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 where the database went away: rendered without context processors, for anything may be broken."""
    error = sys.exc_info()[1]  # Django calls this while it handles the error
    # the database went away under the request (a restart, a full disk): for a moment, and no fault of ours
    gone = isinstance(error, Exception) and is_away(error)
    title, words = NO_DATABASE_WORDS if gone else WORDS[500]
    status = 503 if gone else 500
    if request.path.startswith("/api/"):
        told = problem.body("unavailable" if gone else "broken", f"{title}: {words}")
        response: HttpResponse = JsonResponse(told, status=status)
    else:
        form = _kept(request)
        context = {"title": title, "words": KEPT_WORDS if form else words, "address": request.path, "form": form}
        response = render(None, "broken.html", context, status=status)
    if gone:
        response["Retry-After"] = RETRY_S
    return response


def _kept(request: HttpRequest) -> list[tuple[str, str]]:
    """Return what a form held that may be sent again as it was, for it carries a key: else nothing."""
    with contextlib.suppress(Exception):  # whatever it was that broke, it may have been this
        if FIELD in request.POST and not request.FILES:
            return [(name, value) for name, values in request.POST.lists() for value in values]
    return []


@login_not_required
def csrf(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form that does not come from a page of ours, or from one that is too old."""
    return page(request, 403, message="This form is too old or comes from another site. Reload the page and send it again.")


@login_not_required
def locked_out(request: HttpRequest, *_: Any, **__: Any) -> HttpResponse:
    """429 after too many wrong passwords."""
    return page(request, 429, message=f"Too many wrong passwords for this name from your address. {WORDS[429][1]}")
