"""How much waits, how much was answered today, and when the last answer was given."""

from collections.abc import Collection
from typing import Any

from django.utils import timezone

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.selectors import inbox
from tasks_app.services import keys


class InboxCounts:
    """Stands beside the heading of the inbox."""

    name = "inbox-counts"
    template = "panels/inbox_counts.html"

    def block(self, team_ids: Collection[int]) -> Block:
        """Return the block for a person who sees these teams."""
        return Block("inbox-counts", self.name, (), frozenset({keys.TEAMS, *(keys.inbox(pk) for pk in team_ids)}))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return what waits, the number answered since midnight and the moment of the last answer ever."""
        midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
        count, last = inbox.answered_since(viewer.team_ids, midnight)
        return {"waiting": inbox.total(viewer.team_ids), "answered_today": count, "last_answer": last}
