"""Teams as they are stored, without their largest columns: several blocks of a page want them. And those put aside."""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tasks_app.models import Team
from tasks_app.models.teams import LARGE
from tasks_app.selectors.look import once


@dataclass(frozen=True)
class Archived:
    """A team that was put aside."""

    slug: str
    name: str
    rehearsal: bool
    archived_at: dt.datetime


@once
def stored(team_ids: Collection[int]) -> Mapping[int, Team]:
    """Return these teams by pk, in order of their pk, without plan and script; one query."""
    return {team.pk: team for team in Team.objects.filter(pk__in=team_ids).defer(*LARGE).order_by("pk")}


def archived(team_ids: Collection[int]) -> list[Archived]:
    """Return the archived ones of these teams, those first that were put aside last; one query."""
    found = Team.objects.filter(pk__in=team_ids, archived_at__isnull=False).order_by("-archived_at", "pk")
    rows = found.values_list("slug", "name", "rehearsal", "archived_at")
    return [Archived(slug, name, rehearsal, at) for slug, name, rehearsal, at in rows if at is not None]
