"""The Overview: all teams of a person at a glance."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from dashboard.panels.kpis import Kpis
from dashboard.panels.team_list import TeamList
from dashboard.views.page import Page


@require_GET
def overview(request: HttpRequest) -> HttpResponse:
    """Show the figures over all teams and each team with its agents."""
    page = Page.open(request, "overview")
    ids = page.viewer.team_ids
    return page.render("pages/overview.html", {"kpis": Kpis().block(ids), "teams": TeamList().block(ids)})
