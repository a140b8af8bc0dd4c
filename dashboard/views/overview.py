"""The Overview: all teams of a person at a glance."""

from django.http import HttpRequest, HttpResponse

from dashboard.http import shows
from dashboard.panels.kpis import Kpis
from dashboard.panels.last_backup import LastBackup
from dashboard.panels.team_list import TeamList
from dashboard.views.page import Page


@shows
def overview(request: HttpRequest) -> HttpResponse:
    """Show the figures over all teams and each team with its agents; to administrators also how the last backup went."""
    page = Page.open(request, "overview")
    ids = page.viewer.team_ids
    last_backup = LastBackup().block() if page.viewer.superuser else None
    context = {"kpis": Kpis().block(ids), "teams": TeamList().block(ids), "last_backup": last_backup}
    return page.render("pages/overview.html", context)
