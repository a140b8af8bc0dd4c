"""Expected failures become pages or JSON in one place: status from the error, words for people."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from dashboard import problem
from dashboard.views import errors
from tasks_app.domain.errors import DomainError
from tasks_app.services.moments import one_moment


class DomainErrorMiddleware:
    """Turns a `DomainError` that a view lets through into an answer of its status with its message."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer a `DomainError`; leave everything else to Django."""
        if not isinstance(error, DomainError):
            return None
        if request.path.startswith("/api/"):
            return JsonResponse(problem.answer(error), status=error.status)
        return errors.page(request, error.status, message=error.message)


def shows(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Let a view answer GET alone, all that it reads as of one moment. Not for what writes, works git or sends a file."""

    @require_GET
    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with one_moment():
            return view(request, *args, **kwargs)

    return inner


def post_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Let a view answer POST alone; whoever reloads or goes back to its address is sent to the page it belongs to."""

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST":
            return view(request, *args, **kwargs)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["POST"])
        return redirect(errors.parent(request.path))

    return inner
