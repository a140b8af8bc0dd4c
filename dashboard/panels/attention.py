"""What calls on every page: the amber bar (how much waits, what has waited longest, the way there) and the bell."""

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


class Bell:
    """The bell at the top, with the number that waits: it leads to the Inbox."""

    name = "bell"
    template = "panels/bell.html"

    def block(self, team_ids: Collection[int]) -> Block:
        """Return the block for a person who sees these teams."""
        return Block("bell", self.name, (), frozenset({keys.TEAMS, *(keys.inbox(pk) for pk in team_ids)}))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return how much waits in the viewer's teams."""
        return {"waiting": inbox.total(viewer.team_ids)}
