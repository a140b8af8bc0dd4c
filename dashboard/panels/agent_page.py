"""The head of an agent's page: state, context, time, tokens, cost, and what the lead can do with it."""

from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.selectors import agents, steps
from tasks_app.services import keys


class AgentHead:
    """What it is and does, with its context large."""

    name = "agent-head"
    template = "panels/agent_head.html"

    def block(self, agent_pk: int, team_pk: int) -> Block:
        """Return the head of one agent."""
        return Block(f"{self.name}-{agent_pk}", self.name, (agent_pk,), frozenset({keys.agent(agent_pk)}), team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the agent's card and how many tools its open run has called; None when it is gone."""
        card = agents.by_ids([int(block.args[0])]).get(int(block.args[0]))
        if card is None:
            return None
        return {"card": card, "calls": steps.calls(card.run.id) if card.run else None}
