"""The transcript of one run: the last steps, live; earlier ones by pages."""

from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.selectors import steps
from tasks_app.services import keys


class Transcript:
    """A window on a run's steps. Its arguments: the run, the filter, and the step before which it ends (0: the newest)."""

    name = "transcript"
    template = "panels/transcript.html"
    fast = True

    def block(self, run_id: str, only: str, before: int, team_pk: int) -> Block:
        """Return the window; one on earlier steps never changes."""
        changes = frozenset() if before else frozenset({keys.run(run_id)})
        return Block(f"transcript-{run_id}", self.name, (run_id, only, before), changes, team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the steps of the window."""
        run_id, only, before = str(block.args[0]), str(block.args[1]), int(block.args[2])
        return {"window": steps.window(run_id, before=before or None, only=only), "only": only, "before": before}
