"""What a page is made of, as one hidden word: where it changes, the client fetches the page again and morphs it.

For what no block can show by itself: the run an agent's page follows, and whether the inbox shows a decision at all.
"""

from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.selectors import inbox, steps
from tasks_app.services import keys


class AgentStructure:
    """The newest run of an agent, where the page follows it (no run was asked for)."""

    name = "agent-structure"
    template = "panels/structure.html"

    def block(self, agent_pk: int, team_pk: int) -> Block:
        """Return the word of an agent's page."""
        return Block(f"made-of-agent-{agent_pk}", self.name, (agent_pk,), frozenset({keys.agent(agent_pk)}), team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return every run with its state: a new one, or one that has ended, changes what is there to choose."""
        heads = steps.heads(int(block.args[0]))
        return {"block": block, "word": " ".join(f"{head.id}:{head.status}" for head in heads)}


class InboxStructure:
    """Whether something waits at all. What was answered is a block's to tell: a page fetched again may be a step behind."""

    name = "inbox-structure"
    template = "panels/structure.html"

    def block(self, kind: str, team_ids: frozenset[int]) -> Block:
        """Return the word of the inbox."""
        return Block("made-of-inbox", self.name, (kind,), frozenset(keys.inbox(pk) for pk in team_ids))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return `waits` or `empty`."""
        items = inbox.open_items(viewer.team_ids, kind=str(block.args[0]))
        return {"block": block, "word": "waits" if items else "empty"}
