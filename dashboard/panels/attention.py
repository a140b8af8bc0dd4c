"""The amber bar on every page: how much waits for this person, what has waited longest, and the way there."""

from collections.abc import Collection
from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.selectors import inbox
from tasks_app.services import keys


class Attention:
    """Cannot be closed; it ends when nothing waits."""

    name = "attention"
    template = "panels/attention.html"

    def block(self, team_ids: Collection[int]) -> Block:
        """Return the block for a person who sees these teams."""
        return Block("attention", self.name, (), frozenset({keys.TEAMS, *(keys.inbox(pk) for pk in team_ids)}))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return what waits in the viewer's teams."""
        return {"waiting": inbox.waiting(viewer.team_ids)}
