"""The six figures at the head of the Overview, over all teams of a person."""

from collections.abc import Collection
from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.selectors import teams
from tasks_app.services import keys


class Kpis:
    """Waiting for you, failed, blocked, in flight, queued, done."""

    name = "kpis"
    template = "panels/kpis.html"

    def block(self, team_ids: Collection[int]) -> Block:
        """Return the block for a person who sees these teams."""
        changes = {keys.TEAMS, *(keys.inbox(pk) for pk in team_ids), *(keys.tasks(pk) for pk in team_ids)}
        return Block("kpis", self.name, (), frozenset(changes))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the sums; `waiting` counts decisions, `counts` counts tasks."""
        counts, waiting = teams.sums(viewer.team_ids)
        return {"counts": counts, "waiting": waiting}
