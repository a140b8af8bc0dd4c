"""How a button works: do it, then show the page again; a refusal is the same page with the reason and its status."""

from collections.abc import Callable, Mapping

from django.contrib import messages
from django.http import HttpRequest, HttpResponse

from tasks_app.domain.errors import DomainError, Invalid

Act = Callable[[], str | None]
"""Does the thing and returns what to say about it, or None."""


def choose(request: HttpRequest, acts: Mapping[str, Act]) -> Act:
    """Return what the field `do` names; raises `Invalid` for a word that no page of ours sends."""
    word = request.POST.get("do", "")
    if word not in acts:
        raise Invalid("There is no such action here.", field="do")
    return acts[word]


def perform(
    request: HttpRequest, act: Act, *, done: Callable[[], HttpResponse], refused: Callable[[DomainError], HttpResponse]
) -> HttpResponse:
    """Do it and answer with `done()`, or with `refused(problem)` where it is refused."""
    try:
        said = act()
    except DomainError as problem:
        return refused(problem)
    if said:
        messages.success(request, said)
    return done()
