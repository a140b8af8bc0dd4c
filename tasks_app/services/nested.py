"""The files of a workspace brought into an index, without git ever entering a repository that lies inside the workspace.

Whoever works there can make one, and its configuration names commands (`core.fsmonitor`, filters). Git runs them when its index
knows the repository as one (a "gitlink") and it compares that with what lies there. So the index has none when git looks at the
files: what lies in a repository inside is kept like all other files, its `.git` never is.
"""

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from tasks_app.services import last_snapshot
from tasks_app.services.workspaces import failed, run_git

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


def gitlinks_of(git: Sequence[str], snapshot_id: str) -> set[str] | None:
    """The repositories that a snapshot of an older version names: it does not say which files they had. None where git fails."""
    done = run_git([*git, "ls-tree", "-r", "-z", "--full-tree", snapshot_id])
    return None if failed(done) else gitlinks_in(done.stdout.split("\0"))


def gitlinks_in(entries: Iterable[str]) -> set[str]:
    """The repositories among what git lists as mode, id and name."""
    return {entry.partition("\t")[2] for entry in entries if entry.startswith(GITLINK)}


def lies_in(name: str, repositories: set[str]) -> bool:
    """Whether a file is in one of these, or has the place of one."""
    return bool(repositories) and not repositories.isdisjoint((name, *map(str, PurePosixPath(name).parents)))


def leave_out(git: Sequence[str], snapshot_id: str) -> bool:
    """Take what lies in the repositories that a snapshot names out of the index: git then leaves those files alone.

    Returns whether git could.
    """
    repositories = gitlinks_of(git, snapshot_id)
    try:
        names = _listed(git, "--cached") if repositories else ()
        _replace(git, [name for name in names if lies_in(name, repositories or set())], more=())
    except _Failed:
        return False
    return repositories is not None


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
            return not failed(done)
        if done.returncode == 0 and last_snapshot.index(store) == before:
            return True
        found = _gitlinks(git) | (_unborn(git) if done.returncode else set())
        if not found:
            return not failed(done)
        _replace(git, found, more=(f"{EMPTY_FILE}\t{name}/{PLACE}\0" for name in found) if deeper else ())
    return not failed(done)


def _gitlinks(git: Sequence[str]) -> set[str]:
    """The repositories that the index knows as such."""
    return gitlinks_in(_listed(git, "--stage"))


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
    if failed(done):
        raise _Failed
    return done.stdout
