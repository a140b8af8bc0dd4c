"""The cursor: where a page stands in the logs of all its viewer's teams, as one string that only the server reads."""

import re
from collections.abc import Mapping

from dashboard.access import Viewer
from tasks_app.selectors import live as selector

NOTHING = "-"
"""The cursor of a viewer without teams."""
_FORM = re.compile(r"[0-9]{1,18}:[0-9]{1,18}(?:,[0-9]{1,18}:[0-9]{1,18})*", re.ASCII)


def encode(seqs: Mapping[int, int]) -> str:
    """Return `{3: 120, 5: 9}` as `3:120,5:9`."""
    return ",".join(f"{team}:{seqs[team]}" for team in sorted(seqs)) or NOTHING


def decode(text: str) -> dict[int, int] | None:
    """Return what `encode` was given, or None for anything it cannot have made."""
    if text == NOTHING:
        return {}
    if not _FORM.fullmatch(text):
        return None
    pairs = [pair.split(":") for pair in text.split(",")]
    seqs = {int(team): int(seq) for team, seq in pairs}
    return seqs if len(seqs) == len(pairs) else None


def read(viewer: Viewer) -> str:
    """Return the cursor of now. A page reads it *before* its data, so that a change in between is sent again. One query."""
    return encode(selector.positions(viewer.team_ids))
