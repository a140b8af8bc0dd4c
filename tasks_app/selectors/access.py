"""Who may see and act on which team."""

from collections.abc import Collection

from django.contrib.auth import get_user_model

from tasks_app.domain.statuses import AccessLevel
from tasks_app.models import Team, TeamAccess

LEAD = AccessLevel.LEAD.value


def team_ids() -> frozenset[int]:
    """Return the primary keys of all teams (what a superuser may see)."""
    return frozenset(Team.objects.values_list("pk", flat=True))


def levels(user_id: int) -> dict[int, str]:
    """Return {team pk: "lead" | "viewer"} of a user who is no superuser."""
    return dict(TeamAccess.objects.filter(user_id=user_id).values_list("team_id", "level"))


def administers(username: str) -> bool:
    """Whether that account is an administrator's, who may act in every team and for everybody."""
    return get_user_model().objects.filter(username=username, is_superuser=True, is_active=True).exists()


def unknown(usernames: Collection[str]) -> frozenset[str]:
    """Return those who have no account that can sign in. One query."""
    known = get_user_model().objects.filter(username__in=usernames, is_active=True).values_list("username", flat=True)
    return frozenset(usernames) - frozenset(known)


def usernames() -> list[str]:
    """Return every account that can sign in, in order."""
    return list(get_user_model().objects.filter(is_active=True).order_by("username").values_list("username", flat=True))
