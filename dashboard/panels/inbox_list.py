"""The list of what waits: first what blocks work, then the rest, oldest first."""

from collections.abc import Collection
from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.selectors import inbox
from tasks_app.services import keys


class InboxList:
    """Its arguments are the kind that is filtered for ("" for all) and the decision that is open on the page."""

    name = "inbox-list"
    template = "panels/inbox_list.html"

    def block(self, kind: str, selected: str, team_ids: Collection[int]) -> Block:
        """Return the list for a person who sees these teams."""
        changes = {keys.TEAMS, *(keys.inbox(pk) for pk in team_ids)}
        return Block("inbox-list", self.name, (kind, selected), frozenset(changes))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the items of the viewer's teams."""
        kind, selected = (str(value) for value in block.args)
        return {"items": inbox.open_items(viewer.team_ids, kind=kind), "kind": kind, "selected": selected}
