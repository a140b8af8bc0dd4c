"""The agents of a team: the set as one block, each card as a block of its own inside it."""

from collections.abc import Sequence

from dashboard.access import Viewer
from dashboard.panels.base import Block
from dashboard.panels.many import Contexts, Many
from tasks_app.selectors import agents
from tasks_app.services import keys


class AgentCard(Many):
    """One agent: state, what it does now, context, time, tokens, cost. Fast: a step shows here first."""

    name = "agent-card"
    template = "panels/agent_card.html"
    fast = True

    def block(self, agent_pk: int, team_pk: int) -> Block:
        """Return the card of one agent."""
        changes = frozenset({keys.agent(agent_pk), keys.doing(agent_pk)})
        return Block(f"agent-{agent_pk}", self.name, (agent_pk,), changes, team_pk)

    def contexts(self, blocks: Sequence[Block], viewer: Viewer) -> Contexts:
        """Return each agent's card."""
        found = agents.by_ids(int(block.args[0]) for block in blocks)
        return {block.id: {"card": card} for block in blocks if (card := found.get(int(block.args[0])))}


class AgentSet(Many):
    """The cards of one team, in their order."""

    name = "agent-set"
    template = "panels/agent_set.html"

    def block(self, team_pk: int) -> Block:
        """Return the set of one team's cards."""
        return Block(f"agents-{team_pk}", self.name, (team_pk,), frozenset({keys.agents(team_pk)}), team_pk)

    def contexts(self, blocks: Sequence[Block], viewer: Viewer) -> Contexts:
        """Return the cards' blocks. The cards are read at once: a set that is drawn draws all of them."""
        found: dict[int | None, list[Block]] = {}
        card = AgentCard()
        for one in agents.of_teams([block.team for block in blocks if block.team is not None]):
            found.setdefault(one.team_id, []).append(card.block(one.pk, one.team_id))
        return {block.id: {"cards": found.get(block.team, [])} for block in blocks}
