"""The red bar on every page while there is work and no worker answers."""

from collections.abc import Collection
from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.management.words import COMMAND
from tasks_app.selectors import workers
from tasks_app.services import keys


class Silence:
    """Cannot be closed; it ends when a worker is back. No event tells of either: the hub's slow timer looks (live/refresh)."""

    name = "silence"
    template = "panels/silence.html"

    def block(self, team_ids: Collection[int]) -> Block:
        """Return the block for a person who sees these teams."""
        return Block("silence", self.name, (), frozenset({keys.TEAMS, *(keys.tasks(pk) for pk in team_ids)}))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return since when nobody works for the viewer's teams; None: somebody does, or there is nothing to do."""
        return {"silence": workers.silence(viewer.team_ids), "command": COMMAND}
