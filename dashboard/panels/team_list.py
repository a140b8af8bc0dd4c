"""The teams on the Overview, most urgent first as of the moment the list is made; below them those put aside."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from dashboard.access import Viewer
from dashboard.panels.agents import AgentSet
from dashboard.panels.base import Block
from dashboard.panels.team_head import TeamHead
from tasks_app.selectors import stored_teams, teams
from tasks_app.services import keys


@dataclass(frozen=True)
class Section:
    """One team's part of the Overview."""

    pk: int
    head: Block
    agents: Block


class TeamList:
    """Changes only when a team is added, archived or restored; what is in it changes by itself."""

    name = "team-list"
    template = "panels/team_list.html"

    def block(self, team_ids: Collection[int]) -> Block:
        """Return the list for a person who sees these teams."""
        return Block("team-list", self.name, (), frozenset({keys.TEAMS}))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return a section per team."""
        return {**self.of(teams.visible(viewer.team_ids)), "archived": stored_teams.archived(viewer.team_ids)}

    def of(self, found: Collection[teams.TeamSummary]) -> dict[str, Any]:
        """Return the context for summaries that are already there, in their order."""
        head, agents = TeamHead(), AgentSet()
        return {"sections": [Section(team.pk, head.block(team.pk), agents.block(team.pk)) for team in found]}
