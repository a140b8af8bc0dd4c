"""The head of a team: its state, progress, spending and, on its own page, what the lead can do with it."""

from collections.abc import Sequence
from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from dashboard.panels.many import Contexts, Many
from tasks_app.selectors import teams
from tasks_app.selectors.states import URGENCY
from tasks_app.services import keys


class TeamHead(Many):
    """The head of a team's section on the Overview."""

    name = "team-head"
    template = "panels/team_head.html"

    def block(self, team_pk: int) -> Block:
        """Return the head of one team."""
        return Block(f"{self.name}-{team_pk}", self.name, (team_pk,), team_keys(team_pk), team_pk)

    def contexts(self, blocks: Sequence[Block], viewer: Viewer) -> Contexts:
        """Return each team's figures."""
        found = teams.summaries([block.team for block in blocks if block.team is not None])
        return {block.id: self.of(found[block.team]) for block in blocks if block.team in found}

    def of(self, team: teams.TeamSummary) -> dict[str, Any]:
        """Return the context for a summary that is already there; `rank` as `teams.visible` sorts, least first."""
        return {"team": team, "rank": URGENCY[team.state] * 10**11 - int(team.created_at.timestamp())}


class TeamBar(TeamHead):
    """The head of a team's own page, with its actions."""

    name = "team-bar"
    template = "panels/team_bar.html"


def team_keys(team_pk: int) -> frozenset[str]:
    """Return what makes a team's figures stale."""
    return frozenset({keys.team(team_pk), keys.tasks(team_pk), keys.inbox(team_pk), keys.agents(team_pk)})
