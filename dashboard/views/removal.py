"""The page that deletes a team with its history: what goes, what stays, archiving as the other way, and a name to type."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.access import require_admin
from dashboard.http import post_only, shows
from dashboard.views import teams
from dashboard.views.page import Page
from tasks_app.domain.errors import DomainError
from tasks_app.selectors import removals as selector
from tasks_app.selectors import teams as team_selector
from tasks_app.services import removals


@shows
def page(request: HttpRequest, slug: str) -> HttpResponse:
    """Say what deleting the team would remove."""
    return _render(*_open(request, slug))


@post_only
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete the team, for who has typed its name."""
    opened, found = _open(request, slug)
    typed = request.POST.get("name", "")[:200]
    try:
        name = removals.delete(found.pk, name=typed, actor=opened.viewer.actor)
    except DomainError as problem:
        return _render(opened, found, problem=problem, posted={"name": typed})
    messages.success(request, f"{name} is deleted with its history.")
    return redirect("teams")


def _open(request: HttpRequest, slug: str) -> tuple[Page, team_selector.Identity]:
    opened = Page.open(request, "removal", slug)
    found = teams.find(opened, slug, act=True)
    require_admin(opened.viewer)
    return opened, found


def _render(
    opened: Page,
    found: team_selector.Identity,
    *,
    problem: DomainError | None = None,
    posted: dict[str, Any] | None = None,
) -> HttpResponse:
    team = team_selector.summary(found.pk)
    context = {**teams.about(opened, found), "team": team, "goes": selector.of_team(found.pk), "posted": posted}
    return opened.render("pages/removal.html", context, problem=problem, fields=("name",))
