"""The block of a team's checkpoints: what its work can go on from, and what going back to each would do."""

from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.selectors import checkpoints, teams
from tasks_app.services import keys


class CheckpointList:
    """What waits to go on, and the newest checkpoints."""

    name = "checkpoint-list"
    template = "panels/checkpoint_list.html"

    def block(self, team_pk: int) -> Block:
        """Return the list of one team."""
        stale = frozenset({keys.checkpoints(team_pk), keys.tasks(team_pk), keys.context(team_pk)})
        return Block(f"{self.name}-{team_pk}", self.name, (team_pk,), stale, team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return what work can go on from."""
        team_pk = int(block.args[0])
        slug = teams.slug_of(team_pk)
        return None if slug is None else {"slug": slug, "found": checkpoints.overview(team_pk)}
