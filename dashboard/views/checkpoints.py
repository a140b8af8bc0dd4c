"""Checkpoints of a team: what its work can go on from, what going back to one would change, and going back."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from dashboard.forms import fields
from dashboard.http import post_only, shows
from dashboard.idempotency import key_of
from dashboard.panels.checkpoints import CheckpointList
from dashboard.views.act import Act, choose, perform
from dashboard.views.page import Page
from dashboard.views.teams import about, find
from tasks_app.domain.errors import DomainError
from tasks_app.domain.ids import given_task_number
from tasks_app.selectors import checkpoints as reading
from tasks_app.selectors.teams import Identity
from tasks_app.services import checkpoints, restores

MOST_SEQ = 2**62


@shows
def listing(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what the team's work can go on from."""
    page = Page.open(request, "checkpoints", slug)
    return _list(page, find(page, slug))


@post_only
def save(request: HttpRequest, slug: str) -> HttpResponse:
    """Save a checkpoint."""
    page = Page.open(request, "checkpoints", slug)
    team = find(page, slug, act=True)

    def keep() -> str:
        name = fields.text(request.POST, "name", 200)
        saved = checkpoints.save(team.pk, name=name, by=page.viewer.actor, idempotency_key=key_of(request))
        return f"“{saved.name}” is saved."

    return perform(
        request, keep, done=lambda: redirect("checkpoints", slug), refused=lambda problem: _list(page, team, problem=problem)
    )


@require_GET
def one(request: HttpRequest, slug: str, id: str) -> HttpResponse:
    """Show what going back to a checkpoint would change, or (`task`) to where one task stood."""
    page = Page.open(request, "checkpoint")
    return _one(page, find(page, slug), id, request.GET.get("task", ""))


@post_only
def act(request: HttpRequest, slug: str, id: str) -> HttpResponse:
    """Go back to a checkpoint, as of the event that was looked at; or delete it."""
    page = Page.open(request, "checkpoint")
    team = find(page, slug, act=True)
    label = request.POST.get("task", "")
    return perform(
        request,
        lambda: choose(request, _acts(request, team, id, page.viewer.actor))(),
        done=lambda: redirect("checkpoints", slug),
        refused=lambda problem: _one(page, team, id, label, problem=problem),
    )


def _acts(request: HttpRequest, team: Identity, id: str, actor: str) -> dict[str, Act]:
    def restore() -> str:
        seen = fields.count(request.POST, "seq", MOST_SEQ)
        done = restores.restore(team.pk, id, seen=seen or 0, actor=actor, task=given_task_number(request.POST.get("task", "")))
        return f"Restored “{done.name}”: {done.words}. How it was before is saved, too: restore that to undo this."

    def delete() -> str:
        return f"“{checkpoints.delete(team.pk, id, actor=actor)}” is deleted."

    return {"restore": restore, "delete": delete}


def _list(page: Page, team: Identity, *, problem: DomainError | None = None) -> HttpResponse:
    given = page.request.POST.get("name", "")[:200]
    values = {**about(page, team), "list": CheckpointList().block(team.pk), "given": given}
    return page.render("pages/checkpoints.html", values, problem=problem)


def _one(page: Page, team: Identity, id: str, label: str, *, problem: DomainError | None = None) -> HttpResponse:
    saved = reading.get(team.pk, id)
    looked = None
    try:
        looked = restores.preview(team.pk, id, task=given_task_number(label))
    except DomainError as refused:
        problem = problem or refused
    values = {**about(page, team), "saved": saved, "looked": looked, "label": label}
    return page.render("pages/checkpoint.html", values, problem=problem)
