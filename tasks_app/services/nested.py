"""The files of a workspace brought into an index, without git ever entering a repository that lies inside the workspace.

Whoever works there can make one, and its configuration names commands (`core.fsmonitor`, filters). Git runs them when its index
knows the repository as one (a "gitlink") and it compares that with what lies there. So the index has none when git looks at the
files: what lies in a repository inside is kept like all other files, its `.git` never is.
"""

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tasks_app.services import last_snapshot
from tasks_app.services.workspaces import run_git

GITLINK: Final = "160000 "
ROUNDS: Final = 8
"""Each finds what lies one repository deeper; what is deeper still is left out."""
TOO_LONG: Final = 127
PLACE: Final = ".crewdesk-place"
"""What the index has a file of is a folder to git, whatever else lies in it. There is no such file, so `add` drops it again."""
NO_FILE: Final = f"0 {'0' * 40}"
EMPTY_FILE: Final = "100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


class _Failed(Exception):
    """Git could not say or change what the index has: it must not look at the files with that."""


def add(git: Sequence[str], store: Path) -> bool:
    """Make the index hold the workspace's files as they are, and no gitlink; returns whether git could.

    Where nothing has changed since the last snapshot this is one process, and the index is left alone.
    """
    try:
        return _add(git, store)
    except _Failed:
        return False


def _add(git: Sequence[str], store: Path) -> bool:
    last = last_snapshot.read(store)
    if last is None or last.left != last_snapshot.index(store):  # somebody else has written it, or was killed before it was clean
        _replace(git, _gitlinks(git), more=())
    for deeper in reversed(range(ROUNDS)):
        before = last_snapshot.index(store)
        done = run_git([*git, "add", "-A", "--", "."])
        if done.returncode == TOO_LONG:
            (store / "index.lock").unlink(missing_ok=True)  # it was killed, and every later one would fail for it
            return False
        if done.returncode == 0 and last_snapshot.index(store) == before:
            return True
        found = _gitlinks(git) | (_unborn(git) if done.returncode else set())
        if not found:
            return done.returncode == 0
        _replace(git, found, more=(f"{EMPTY_FILE}\t{name}/{PLACE}\0" for name in found) if deeper else ())
    return done.returncode == 0


def _gitlinks(git: Sequence[str]) -> set[str]:
    """The repositories that the index knows as such."""
    return {entry.partition("\t")[2] for entry in _listed(git, "--stage") if entry.startswith(GITLINK)}


def _unborn(git: Sequence[str]) -> set[str]:
    """The repositories that the index does not know; one without a commit makes `add` fail."""
    return {name.rstrip("/") for name in _listed(git, "--others", "--exclude-standard") if name.endswith("/")}


def _listed(git: Sequence[str], *which: str) -> list[str]:
    return _must(run_git([*git, "ls-files", "-z", *which])).split("\0")


def _replace(git: Sequence[str], names: Iterable[str], *, more: Iterable[str]) -> None:
    """Take these out of the index and put other entries in."""
    lines = "".join([*(f"{NO_FILE}\t{name}\0" for name in names), *more])
    if lines:
        _must(run_git([*git, "update-index", "-z", "--index-info"], stdin=lines))


def _must(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode:
        raise _Failed
    return done.stdout
