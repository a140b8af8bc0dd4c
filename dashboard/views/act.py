"""How a button works: do it, then show the page again; a refusal is the same page with the reason and its status."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse

from tasks_app.domain.errors import Conflict, DomainError, Invalid
from tasks_app.services.undo import Undo, load

SALT = "crewdesk.undo"
LASTS_S = 600
"""For so long a page's button for undoing an act is taken."""


@dataclass(frozen=True)
class Said:
    """What to say about an act that can be undone."""

    text: str
    undo: Undo | None


Act = Callable[[], str | Said | None]
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
    tell(request, said)
    return done()


def tell(request: HttpRequest, said: str | Said | None) -> None:
    """Say what was done on the next page; with a button that undoes it, where that can be done."""
    if isinstance(said, Said):
        token = signing.dumps(said.undo.plain(), salt=SALT, compress=True) if said.undo else ""
        messages.success(request, said.text, extra_tags=token)
    elif said:
        messages.success(request, said)


def undo_in(request: HttpRequest) -> Undo:
    """Return what a button of `tell` undoes. Raises `Invalid` for what no page of ours sends, `Conflict` where it is too late."""
    try:
        return load(signing.loads(request.POST.get("undo", "")[:100_000], salt=SALT, max_age=LASTS_S))
    except signing.SignatureExpired:
        raise Conflict("That was too long ago to be undone.", field="undo") from None
    except (signing.BadSignature, ValueError, LookupError, TypeError):
        raise Invalid("There is nothing here to undo.", field="undo") from None
