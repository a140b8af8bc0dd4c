"""All teams by name with what calls for the lead: how a phone, which has no rail, gets to them."""

from collections.abc import Collection
from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.selectors import teams
from tasks_app.services import keys


class TeamIndex:
    """The list of the page Teams."""

    name = "team-index"
    template = "panels/team_index.html"

    def block(self, team_ids: Collection[int]) -> Block:
        """Return the list for a person who sees these teams."""
        changes = {keys.TEAMS, *(keys.inbox(pk) for pk in team_ids), *(keys.tasks(pk) for pk in team_ids)}
        return Block("team-index", self.name, (), frozenset(changes))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the teams that are not archived."""
        return {"teams": teams.marks(viewer.team_ids)}
