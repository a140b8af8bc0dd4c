"""Teams as they are stored, without their largest columns: several blocks of a page want them."""

from collections.abc import Collection, Mapping

from tasks_app.models import Team
from tasks_app.models.teams import LARGE
from tasks_app.selectors.look import once


@once
def stored(team_ids: Collection[int]) -> Mapping[int, Team]:
    """Return these teams by pk, in order of their pk, without plan and script; one query."""
    return {team.pk: team for team in Team.objects.filter(pk__in=team_ids).defer(*LARGE).order_by("pk")}
