"""The Overview: all teams of a person at a glance."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from dashboard.http import shows
from dashboard.panels.kpis import Kpis
from dashboard.panels.team_list import TeamList
from dashboard.views.page import Page
from tasks_app.services import backups, clock

LATE = 2
"""Intervals after which the last backup is too old."""


@shows
def overview(request: HttpRequest) -> HttpResponse:
    """Show the figures over all teams and each team with its agents; to administrators also how the last backup went."""
    page = Page.open(request, "overview")
    ids = page.viewer.team_ids
    context = {"kpis": Kpis().block(ids), "teams": TeamList().block(ids), "admin": page.viewer.superuser}
    return page.render("pages/overview.html", context | (_backup() if page.viewer.superuser else {}))


def _backup() -> dict[str, Any]:
    last = backups.last() if settings.BACKUP_URL else None
    late = bool(last and last.ended_at and clock.now() - last.ended_at > timedelta(hours=LATE * settings.BACKUP_HOURS))
    return {"backups_on": bool(settings.BACKUP_URL), "backup": last, "backup_late": late}
