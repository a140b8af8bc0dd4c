"""The transcript of one run: the last steps, live; earlier ones by pages."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.conf import settings

from dashboard.access import Viewer
from dashboard.panels.base import Block
from dashboard.panels.many import Contexts, Many
from tasks_app.selectors import steps
from tasks_app.services import keys

PART = 20
"""Steps in one part: a new step re-sends at most so many, and the whole window only once per part."""


class Transcript:
    """A window on a run's steps. Its arguments: the run, the filter, the step before which it ends (0: the end), words to find.

    With neither a filter nor words the window is cut into parts of fixed numbers, each a block of its own.
    """

    name = "transcript"
    template = "panels/transcript.html"
    fast = True

    def block(self, run_id: str, only: str, before: int, team_pk: int, find: str = "") -> Block:
        """Return the window; one on earlier steps never changes."""
        changes = frozenset() if before else frozenset({keys.run(run_id)})
        return Block(f"transcript-{run_id}", self.name, (run_id, only, before, find), changes, team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the steps of the window, or the parts it is made of."""
        run_id, only, before, find = str(block.args[0]), str(block.args[1]), int(block.args[2]), str(block.args[3])
        newest, oldest = steps.last_seq(run_id), steps.oldest_seq(run_id)
        context = {
            "run_id": run_id,
            "some": bool(only or find),
            "find": find,
            "query": urlencode({name: value for name, value in (("run", run_id), ("only", only), ("find", find)) if value}),
            "before": before,
            "removed": _removed() if newest and oldest != 1 else "",
        }
        if only or find:
            window = steps.window(run_id, before=before or None, only=only, find=find)
            return {**context, "lines": window.lines, "earlier": window.earlier}
        last = min(before - 1, newest) if before else newest
        begin = _begin(oldest or newest + PART)  # what retention has removed makes no parts
        first = max(_begin(last) - steps.WINDOW + PART, begin)
        part, team_pk = Part(), block.team or 0
        parts = [part.block(run_id, at, newest, team_pk) for at in range(first, last + 1, PART)]
        return {**context, "parts": parts, "earlier": first if first > begin else None}


class Part(Many):
    """Some steps of fixed numbers."""

    name = "transcript-part"
    template = "panels/transcript_part.html"
    fast = True

    def block(self, run_id: str, first: int, newest: int, team_pk: int) -> Block:
        """Return the part that begins with step `first`; once it is full it never changes."""
        full = newest >= first + PART - 1
        changes = frozenset() if full else frozenset({keys.run(run_id)})
        return Block(f"steps-{run_id}-{first}", self.name, (run_id, first), changes, team_pk)

    def contexts(self, blocks: Sequence[Block], viewer: Viewer) -> Contexts:
        """Return the steps of each part; two queries per run."""
        by_run: dict[str, list[Block]] = {}
        for block in blocks:
            by_run.setdefault(str(block.args[0]), []).append(block)
        found: dict[str, dict[str, Any]] = {}
        for run_id, mine in by_run.items():
            spans = {block.id: (int(block.args[1]), int(block.args[1]) + PART - 1) for block in mine}
            lines = steps.between(run_id, set(spans.values()))
            found |= {name: {"run_id": run_id, "lines": lines[span]} for name, span in spans.items()}
        return found


def _removed() -> str:
    days = settings.KEEP_STEPS_DAYS
    return f"Steps older than {days:g} days were removed." if days else "The steps of this attempt were removed."


def _begin(seq: int) -> int:
    """Return the first number of the part in which step `seq` stands."""
    return (max(seq, 1) - 1) // PART * PART + 1
