"""Who may see and act on which team."""

from tasks_app.models import Team, TeamAccess

LEAD = "lead"


def team_ids() -> frozenset[int]:
    """Return the primary keys of all teams (what a superuser may see)."""
    return frozenset(Team.objects.values_list("pk", flat=True))


def levels(user_id: int) -> dict[int, str]:
    """Return {team pk: "lead" | "viewer"} of a user who is no superuser."""
    return dict(TeamAccess.objects.filter(user_id=user_id).values_list("team_id", "level"))
