"""The messages of a team or of one agent, with their receipts, and the form to write to an agent."""

from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.selectors import attempts, messages, teams
from tasks_app.services import keys


class Messages:
    """Its arguments are the team and one agent of it (0: all of them)."""

    name = "messages"
    template = "panels/messages.html"

    def block(self, team_pk: int, agent_pk: int = 0) -> Block:
        """Return the messages of a team, or of one agent."""
        changes = frozenset({keys.messages(team_pk), keys.agents(team_pk), keys.team(team_pk)})
        return Block(f"messages-{team_pk}-{agent_pk}", self.name, (team_pk, agent_pk), changes, team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the latest messages and who can be written to."""
        team_pk, agent_pk = (int(value) for value in block.args)
        slug = teams.slug_of(team_pk)
        if slug is None:
            return None
        members = attempts.members(team_pk)
        return {
            "slug": slug,
            "wait": teams.reads_nothing(team_pk),
            "notes": messages.of_agent(agent_pk) if agent_pk else messages.of_team(team_pk),
            "members": [member for member in members if not agent_pk or member.pk == agent_pk],
            "agent_pk": agent_pk,
        }
