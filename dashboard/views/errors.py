"""Error pages in words; none of them needs the database."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

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


def page(request: HttpRequest, status: int, *, message: str = "") -> HttpResponse:
    """Return the error page of a status. `message` says more exactly what happened and what to do, and takes the words' place."""
    title, hint = WORDS.get(status, WORDS[400 if status < 500 else 500])
    context = {"title": title, "words": message or hint, "hint": hint if message and status >= 500 else "", "status": status}
    return render(request, "pages/error.html", context, status=status)


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
    """500: rendered without context processors, for anything may be broken."""
    return render(None, "500.html", status=500)


@login_not_required
def csrf(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form that does not come from a page of ours, or from one that is too old."""
    return page(request, 403, message="This form is too old or comes from another site. Reload the page and send it again.")


@login_not_required
def locked_out(request: HttpRequest, *_: Any, **__: Any) -> HttpResponse:
    """429 after too many wrong passwords."""
    return page(request, 429, message=f"Too many wrong passwords for this name from your address. {WORDS[429][1]}")
