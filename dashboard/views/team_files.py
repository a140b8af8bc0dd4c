"""A team as one file: download it, bring one here."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from dashboard import team_files
from dashboard.http import post_only, shows
from dashboard.views.page import Page
from dashboard.views.teams import find
from tasks_app.domain.errors import DomainError, Invalid

FIELDS = ("file", "name")


@require_GET
def export(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Send the file of a team."""
    page = Page.open(request, "team", slug)
    return team_files.sent(find(page, slug, act=True))


@shows
def form(request: HttpRequest) -> HttpResponse:
    """Show the form that takes a file."""
    return _render(Page.open(request, "team-import"))


@post_only
def load(request: HttpRequest) -> HttpResponse:
    """Make the team of the file, paused, and show it."""
    page = Page.open(request, "team-import")
    name = request.POST.get("name", "")
    try:
        made = team_files.taken(request.FILES.get("file"), name=name, viewer=page.viewer)
    except Invalid as problem:  # its place is one in the file: the page says it at the field that the file came by
        return _render(page, name=name, problem=Invalid(problem.message, field=problem.field))
    except DomainError as problem:
        return _render(page, name=name, problem=problem)
    messages.success(request, f"{made.name} is here, paused: look at it, then resume it.")
    return redirect("team", made.slug)


def _render(page: Page, *, name: str = "", problem: DomainError | None = None) -> HttpResponse:
    context = {
        "name": name[: team_files.MOST_NAME],
        "may": team_files.may_import(page.viewer),
        "most_mb": f"{settings.IMPORT_MB:,}",
    }
    return page.render("pages/team_import.html", context, problem=problem, fields=FIELDS)
