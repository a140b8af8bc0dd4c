"""The list of what waits: first what blocks work, then the rest, oldest first; in it, for a moment, what was just answered."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.decision_kinds.registry import choice_word
from tasks_app.selectors import inbox
from tasks_app.services import keys


@dataclass(frozen=True)
class Gone:
    """What this person has just answered, and behind which row it stood ("": it was the first)."""

    id: str = ""
    after: str = ""


NOTHING = Gone()


class InboxList:
    """Its arguments: the kind that is filtered for ("" for all), the decision that is open, and what was just answered."""

    name = "inbox-list"
    template = "panels/inbox_list.html"

    def block(self, kind: str, selected: str, team_ids: Collection[int], gone: Gone = NOTHING) -> Block:
        """Return the list for a person who sees these teams."""
        changes = {keys.TEAMS, *(keys.inbox(pk) for pk in team_ids)}
        return Block("inbox-list", self.name, (kind, selected, gone.id, gone.after), frozenset(changes))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the items of the viewer's teams."""
        kind, selected, gone, after = (str(value) for value in block.args)
        items = inbox.open_items(viewer.team_ids, kind=kind)
        answered = inbox.detail(gone) if gone else None
        if answered is None or answered.item.open or answered.item.team_id not in viewer.team_ids:
            return {"items": items, "kind": kind, "selected": selected}
        place = next((at for at, item in enumerate(items, 1) if item.id == after), 0)
        items = [*items[:place], answered.item, *items[place:]]
        word = choice_word(answered.choice).capitalize()
        return {"items": items, "kind": kind, "selected": selected, "gone": gone, "word": word}
