"""The head of an agent's page: state, context, time, tokens, cost, and what the lead can do with it."""

from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.selectors import agents, estimates, steps
from tasks_app.services import keys


class AgentHead:
    """What it is and does, with its context large."""

    name = "agent-head"
    template = "panels/agent_head.html"

    def block(self, agent_pk: int, team_pk: int) -> Block:
        """Return the head of one agent; which task comes next changes with the tasks."""
        changes = frozenset({keys.agent(agent_pk), keys.doing(agent_pk), keys.tasks(team_pk)})
        return Block(f"{self.name}-{agent_pk}", self.name, (agent_pk,), changes, team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the agent's card with the tool calls of its open run, else the task that comes next; None when it is gone."""
        card = agents.by_ids([int(block.args[0])]).get(int(block.args[0]))
        if card is None:
            return None
        if card.run:
            return {"card": card, "calls": steps.calls(card.run.id)}
        return {"card": card, "calls": None, "next": estimates.next_of(card.pk)}
