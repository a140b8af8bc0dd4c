"""The last snapshot of a team's files, so that one of files that have not changed since is not made again."""

import time
from pathlib import Path
from typing import Final, NamedTuple

NAME: Final = "last-snapshot-2"
OLD: Final = "last-snapshot"
"""Of versions that left repositories in the index as such: what says that nothing has changed since is not to be believed."""
REUSED_S: Final = 6 * 3_600.0
"""A snapshot is given again for so long: well under the day that pruning leaves to what no row names yet."""


class Last(NamedTuple):
    """Its id, its tree, when it was made (seconds since 1970), and the index that git left behind."""

    name: str
    tree: str
    at: float
    left: str = ""


def read(store: Path) -> Last | None:
    """Return the last snapshot in a store; None where it is too old to be given again, or there is none."""
    try:
        name, tree, at, left = (store / NAME).read_text().split(" ", 3)
    except (FileNotFoundError, ValueError):  # ValueError: what wrote it was killed
        return None
    return Last(name, tree, float(at), left) if float(at) > time.time() - REUSED_S else None


def write(store: Path, last: Last) -> None:
    """Remember it, with the index as it is now; one that could not be made is forgotten."""
    if last.name:
        (store / NAME).write_text(f"{last.name} {last.tree} {last.at} {index(store)}")
    else:
        forget(store)


def forget(store: Path) -> None:
    """Let the next snapshot be one of its own: for who removes snapshots."""
    for name in (NAME, OLD):
        (store / name).unlink(missing_ok=True)


def index(store: Path) -> str:
    """Return what changes whenever git writes its index: it writes a new file and puts that in the place of the old one."""
    try:
        found = (store / "index").stat()
    except FileNotFoundError:
        return "none"
    return f"{found.st_ino} {found.st_mtime_ns} {found.st_size}"
