"""What must not be left on this host when an installation has ended: processes of its runs, and their private files."""

import time
from pathlib import Path

from bench import desk

PATIENCE_S = 12.0


def processes(home: Path, *, patience_s: float = PATIENCE_S) -> list[str]:
    """Return what still runs for this home after `patience_s`, one line each; looks until there is nothing."""
    end = time.monotonic() + patience_s
    while (found := desk.all_of_home(home)) and time.monotonic() < end:
        time.sleep(0.1)
    return [f"a process is left: {line}" for line in found]


def files(home: Path) -> list[str]:
    """Return private folders of runs and materialised transcripts that nobody will remove any more."""
    found = [path for name in ("runs", "tmp") for path in sorted((home / name).glob("*"))]
    return [f"a temporary file is left: {path.relative_to(home)} {_inside(path)}" for path in found]


def _inside(path: Path) -> list[str]:
    return [str(each.relative_to(path)) for each in sorted(path.rglob("*"))][:5]
