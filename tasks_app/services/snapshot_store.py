"""Where a team's snapshots are: a repository of our own, for one at a time; what a killed git leaves behind there goes."""

import fcntl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tasks_app.services.workspaces import held_by_git, root, run_git

STORE: Final = "snapshots.git"
LOCK: Final = "snapshots.lock"
WHOLE: Final = ("HEAD", "config", "objects/info")
"""What `git init` makes in this order: with the last it is done."""
LEFT: Final = ("*.lock", "packed-refs.new", "refs/snapshots/*.lock", "objects/info/*.lock")
"""Files that git makes to keep other gits out, and that it leaves behind where it is killed: every later one would fail."""

_held = threading.local()


@contextmanager
def store_of(slug: str) -> Iterator[Path]:
    """The team's snapshot repository, locked: git's index takes one writer. Who holds it may call what takes it again.

    It is taken before the team's row is locked, never under that lock: git may take seconds, a row is locked for milliseconds.
    Each git holds the lock too, as long as it lives: also where the worker that started it is killed. So who gets it knows that
    none is at work, and removes what a killed one left.
    """
    mine: set[str] = _held.__dict__.setdefault("slugs", set())
    folder = root(slug)
    if slug in mine:
        _clear(folder / STORE)
        yield folder / STORE
        return
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / LOCK).open("w") as lock, held_by_git(lock.fileno()):
        fcntl.flock(lock, fcntl.LOCK_EX)
        _clear(folder / STORE)
        if not is_whole(slug):
            run_git(["git", "init", "--quiet", "--bare", str(folder / STORE)])
        mine.add(slug)
        try:
            yield folder / STORE
        finally:
            mine.discard(slug)


def _clear(store: Path) -> None:
    for pattern in LEFT:
        for path in store.glob(pattern):
            path.unlink(missing_ok=True)


def is_whole(slug: str) -> bool:
    """Whether the team has a repository for its snapshots on this host, made to its end."""
    return all((root(slug) / STORE / name).exists() for name in WHOLE)


def in_use(slug: str) -> bool:
    """Whether somebody takes a snapshot of the team, or puts one back, at this moment."""
    path = root(slug) / LOCK
    if not path.exists():
        return False
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
