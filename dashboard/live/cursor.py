"""The cursor: where a page stands in the logs of all its viewer's teams, as one string that only the server reads."""

import hashlib
import re
from collections.abc import Mapping

from dashboard.access import Viewer
from tasks_app.selectors import live as selector

NOTHING = "-"
"""The cursor of a viewer without teams."""
MAX_CHARS = 3900
"""An address carries two, and proxies take 8 kB of it."""
DIGEST = "~"
_FORM = re.compile(r"[0-9]{1,18}:[0-9]{1,18}(?:,[0-9]{1,18}:[0-9]{1,18})*", re.ASCII)


def encode(seqs: Mapping[int, int]) -> str:
    """Return `{3: 120, 5: 9}` as `3:120,5:9`; of very many teams only a digest, because it travels in an address."""
    text = ",".join(f"{team}:{seqs[team]}" for team in sorted(seqs)) or NOTHING
    return text if len(text) <= MAX_CHARS else DIGEST + hashlib.sha256(text.encode()).hexdigest()[:32]


def decode(text: str) -> dict[int, int] | None:
    """Return what `encode` was given, or None for a digest and for anything it cannot have made."""
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
