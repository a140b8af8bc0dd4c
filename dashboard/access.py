"""Who may see and do what: every page, action and socket asks here, and nowhere else."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from tasks_app.domain.errors import Forbidden, NotFound
from tasks_app.domain.text import clean
from tasks_app.selectors import access as selector
from tasks_app.selectors.teams import Identity, identity


@dataclass(frozen=True)
class Viewer:
    """A person, with what may be seen (`team_ids`) and acted on (`lead_of`), as of the moment it was made."""

    user_id: int
    username: str
    superuser: bool
    team_ids: frozenset[int]
    lead_of: frozenset[int]

    @property
    def actor(self) -> str:
        """`user:<username>`, as services want it."""
        return f"user:{self.username}"

    def can_see(self, team_id: int) -> bool:
        """Whether the team's pages and data are open to this person."""
        return team_id in self.team_ids

    def can_act(self, team_id: int) -> bool:
        """Whether this person may change the team and answer its decisions."""
        return team_id in self.lead_of


NO_TEAM = "There is no such team, or you have no access to it."
NOBODY = Viewer(user_id=0, username="", superuser=False, team_ids=frozenset(), lead_of=frozenset())


def viewer_for(user: AbstractBaseUser | AnonymousUser) -> Viewer:
    """Return the viewer for a user; nobody signed in, or a user set inactive, sees no team. One query."""
    if not user.is_authenticated or not user.is_active or user.pk is None:
        return NOBODY
    superuser = bool(getattr(user, "is_superuser", False))
    if superuser:
        teams = leads = selector.team_ids()
    else:
        levels = selector.levels(user.pk)
        teams = frozenset(levels)
        leads = frozenset(team for team, level in levels.items() if level == selector.LEAD)
    return Viewer(user_id=user.pk, username=user.get_username(), superuser=superuser, team_ids=teams, lead_of=leads)


def team_at(viewer: Viewer, slug: str, *, act: bool = False) -> Identity:
    """Return the team of an address. Raises as `require_team` does, and NotFound where there is none."""
    found = identity(clean(slug))
    if found is None:
        raise NotFound(NO_TEAM, field="team")
    require_team(viewer, found.pk, act=act)
    return found


def require_team(viewer: Viewer, team_id: int, *, act: bool = False) -> None:
    """Return when the viewer may see the team (`act`: may change it).

    Raises NotFound where the team may not be seen (so that nobody learns which teams exist), Forbidden where it may be
    seen but not acted on.
    """
    if not viewer.can_see(team_id):
        raise NotFound(NO_TEAM, field="team")
    if act and not viewer.can_act(team_id):
        raise Forbidden("You may watch this team but not act on it. Ask its lead for the level 'lead'.", field="team")


def require_admin(viewer: Viewer) -> None:
    """Return when the viewer is an administrator. Raises Forbidden."""
    if not viewer.superuser:
        raise Forbidden("Only an administrator may delete a team with its history. Archive it instead.", field="team")
