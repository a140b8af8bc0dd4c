"""Snapshots of workspaces, in a git repository of our own: the team's own repository is never touched.

What the workspace's own .gitignore names is in no snapshot; files of repositories inside it are, their `.git` is not.
"""

import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tasks_app.domain.commit_ids import GONE, commit_id, is_commit_id
from tasks_app.domain.errors import Conflict
from tasks_app.domain.text import clean
from tasks_app.runners import spelling
from tasks_app.services import inside, last_snapshot, nested
from tasks_app.services.snapshot_store import store_of
from tasks_app.services.workspaces import failed, run_git

REFS = "refs/snapshots/"
END = "workspace_end"
"""Where a dossier keeps the snapshot that the attempt ended with."""
IDENTITY = (
    "-c",
    "user.name=Crewdesk",
    "-c",
    "user.email=crewdesk@localhost",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "submodule.recurse=false",
)

CHANGES = ("diff", "--no-renames", "--name-status", "--ignore-submodules=all", "-z")


def _git(store: Path, workspace: str | Path) -> list[str]:
    """The beginning of every git command that works on a workspace with our repository."""
    return ["git", *IDENTITY, f"--git-dir={store}", f"--work-tree={workspace}", "-C", str(workspace)]


def take(slug: str, workspace: str) -> str:
    """Keep the workspace as it is now; returns the snapshot's id, or "" where git is missing or fails (`workspaces.why_not`).

    If nothing has changed since the last one, that is given again: git leaves its index alone then, three processes are saved.
    """
    with store_of(slug) as store:
        git = _git(store, workspace)
        if not nested.add(git, store):
            return ""
        last = last_snapshot.read(store)
        if last and last.left == last_snapshot.index(store):
            return last.name
        tree = _write_tree(git)
        if not last or tree != last.tree:
            last = last_snapshot.Last(_commit(git, tree), tree, time.time())
        last_snapshot.write(store, last)
        return last.name


def _write_tree(git: Sequence[str]) -> str:
    """Return what names the files that stand in the index, or "" where git fails."""
    done = run_git([*git, "write-tree"])
    return "" if failed(done) else done.stdout.strip()


def _commit(git: Sequence[str], tree: str) -> str:
    """Make a snapshot of a tree; returns its id, or "" where git fails."""
    made = run_git([*git, "commit-tree", tree, "-m", "snapshot"]) if tree else None
    if made is None or failed(made):
        return ""
    name = made.stdout.strip()
    # without its name it would go with the next pruning, whatever rows speak of it
    return "" if failed(run_git([*git, "update-ref", f"{REFS}{name}", name])) else name


def within(workspace: str, names: Iterable[str]) -> set[str]:
    """Return these files by their path in the workspace; what lies outside it or is the workspace's own `.git` is left out."""
    base = Path(workspace).resolve()
    found = {(base / name).parent.resolve() / Path(name).name for name in names if Path(name).name}
    inside = {path.relative_to(base) for path in found if path.is_relative_to(base) and path != base}
    kept = {str(path) for path in inside if ".git" not in path.parts and ".." not in path.parts}
    if not spelling.ignored_in(base):
        return kept
    return {name for each in kept if ".git" not in Path(name := spelling.on_disk(base, each)).parts}


def restore(slug: str, workspace: str, snapshot_id: str, files: Iterable[str]) -> list[str]:
    """Put single files back as they were in a snapshot (absent then: removed now); returns those put back, by their path.

    What the workspace's own .gitignore names is in no snapshot: it may have been there before, so it stays. Where the snapshot
    cannot be read nothing is put back.
    """
    wanted = sorted(within(workspace, files))
    if not snapshot_id or not wanted:
        return []
    with store_of(slug) as store:
        git = _git(store, workspace)
        found = _files(git, commit_id(snapshot_id))
        if found is None:
            return []
        there, unknown = found
        wanted = [name for name in wanted if not nested.lies_in(name, unknown)]
        if spelling.ignored_in(Path(workspace).resolve()):  # else README.md, written to as readme.md, would be removed as new
            wanted = sorted({name if name in there else spelling.like(name, there) for name in wanted})
        absent = [name for name in wanted if name not in there]
        ignored = names_of(run_git([*git, "check-ignore", "-z", "--stdin"], stdin="\0".join(absent)).stdout)
        removed = [name for name in absent if name not in ignored and inside.remove(Path(workspace), name)]
        back = [name for name in wanted if name in there]
        done = back if back and _check_out(git, snapshot_id, back).returncode == 0 else []
    return sorted([*removed, *done])


def _check_out(git: Sequence[str], snapshot_id: str, files: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Write these files, and no pattern that they may look like, as they are in a snapshot."""
    command = [*git, "--literal-pathspecs", "checkout", "--quiet", snapshot_id, "--pathspec-from-file=-", "--pathspec-file-nul"]
    return run_git(command, stdin="\0".join(files))


def _files(git: Sequence[str], snapshot_id: str) -> tuple[set[str], set[str]] | None:
    """The files of a snapshot, and the repositories inside, which older ones name but do not hold; None where git fails."""
    done = run_git([*git, "ls-tree", "-r", "-z", "--full-tree", snapshot_id])
    if done.returncode:
        return None
    listed = names_of(done.stdout)
    repositories = nested.gitlinks_in(listed)
    return {entry.partition("\t")[2] for entry in listed} - repositories, repositories


def names_of(listed: str) -> set[str]:
    """Read what git prints with `-z`: names, each with a NUL behind it."""
    return {name for name in listed.split("\0") if name}


def tree(slug: str, snapshot_id: str) -> str:
    """Return what names the files of a snapshot: equal for equal files."""
    with store_of(slug) as store:
        return run_git(["git", f"--git-dir={store}", "rev-parse", f"{commit_id(snapshot_id)}^{{tree}}"]).stdout.strip()


def changed(slug: str, old: str, new: str) -> list[tuple[str, str]]:
    """Return (letter, file) of all that differs between two snapshots: A only in the new one, D only in the old, M in both.

    What lies in a repository that the new one only names (older versions did) is left out: nothing is known of it.
    """
    with store_of(slug) as store:
        return _changed(store, old, new)


def _changed(store: Path, old: str, new: str) -> list[tuple[str, str]]:
    git = ["git", f"--git-dir={store}"]
    done = run_git([*git, *CHANGES, commit_id(old), commit_id(new)])
    if done.returncode:
        raise Conflict(GONE)
    return _known(git, new, _statuses(done.stdout))


def _known(git: Sequence[str], snapshot_id: str, found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out what lies in a repository that the snapshot only names."""
    if not found:
        return found
    repositories = nested.gitlinks_of(git, snapshot_id)
    if repositories is None:
        raise Conflict(GONE)
    return [(letter, name) for letter, name in found if not nested.lies_in(name, repositories)]


def _statuses(listed: str) -> list[tuple[str, str]]:
    """Read what `git diff --name-status -z` prints: (letter, file)."""
    words = listed.split("\0")[:-1]
    return [(letter[:1], name) for letter, name in zip(words[::2], words[1::2], strict=True)]


def rewind(slug: str, workspace: str, now: str, target: str) -> int:
    """Put every file that differs from `now` back to `target`; returns how many. Ignored files stay. Raises `Conflict`."""
    base = Path(workspace).resolve()
    with store_of(slug) as store:
        differing = _changed(store, now, target)
        for letter, name in differing:
            if letter == "D":
                inside.remove(base, name, folders=True)  # a folder that was put there meanwhile stays
        back = [name for letter, name in differing if letter != "D"]
        done = _check_out(_git(store, base), target, back) if back else None
    if done is not None and done.returncode:
        raise Conflict(f"The files could not be put back, so they are as they were: {done.stderr.strip()[:200]}")
    return len(differing)


def holds(slug: str, snapshot_id: str) -> bool:
    """Whether the team's snapshots have this one whole."""
    if not is_commit_id(snapshot_id):
        return False
    with store_of(slug) as store:
        git = ["git", f"--git-dir={store}"]
        return run_git([*git, "rev-parse", "--quiet", "--verify", f"{snapshot_id}^{{tree}}"]).returncode == 0


def changes(slug: str, workspace: str, snapshot_id: str) -> list[tuple[str, str]]:
    """Return what going back to a snapshot would do to the files as they are: (`back` | `changed` | `removed`, path)."""
    words = {"A": "removed", "D": "back"}
    with store_of(slug) as store:
        git = _git(store, workspace)
        if not nested.add(git, store):
            return []
        listed = _statuses(run_git([*git, *CHANGES, "--cached", commit_id(snapshot_id)]).stdout)
        found = _known(git, snapshot_id, listed)
    return [(words.get(letter, "changed"), clean(path)) for letter, path in found]


def mixed(slug: str, snapshot_id: str, other: str, workspace: str, files: Sequence[str]) -> str:
    """Make a snapshot: `snapshot_id` with these files as they are in `other` (absent there: gone). Returns its id or ""."""
    base, snapshot_id, other = Path(workspace).resolve(), commit_id(snapshot_id), commit_id(other)
    with store_of(slug) as store:
        git = _git(store, base)
        unknown = nested.gitlinks_of(git, other)
        if unknown is None or run_git([*git, "read-tree", "--reset", snapshot_id]).returncode:
            return ""
        for name in files:
            target = (base / name).resolve()
            if target.is_relative_to(base) and target != base:
                path = str(target.relative_to(base))
                if not nested.lies_in(path, unknown):
                    _take(git, other, path)
        made = _commit(git, _write_tree(git))
        run_git([*git, "read-tree", "--reset", snapshot_id])
        return made


def _take(git: Sequence[str], other: str, path: str) -> None:
    """Let the index have a file as it is in a snapshot."""
    found = run_git([*git, "ls-tree", "-z", other, "--", f":(top,literal){path}"]).stdout.rstrip("\0")
    mode, kind, name = [*found.partition("\t")[0].split(" "), "", "", ""][:3]
    if kind == "blob":
        run_git([*git, "update-index", "--add", "--cacheinfo", f"{mode},{name},{path}"])
    else:
        run_git([*git, "update-index", "--force-remove", "--", path])


def put_back(slug: str, workspace: str, *, due: Callable[[], str], done: Callable[[str], object]) -> bool:
    """Make the whole workspace as it is in the snapshot that `due()` names, then call `done` with it. Returns whether it could.

    Both are called while nobody else takes or restores a snapshot, so that it is done once. What the workspace's own .gitignore
    names is in no snapshot and stays; its `.git` is never touched, nor is what lies in a repository that the snapshot only names.
    """
    with store_of(slug) as store:
        wanted = due()
        if not wanted:
            return True
        git = _git(store, workspace)
        ready = nested.add(git, store) and nested.leave_out(git, commit_id(wanted))
        if not ready or failed(run_git([*git, "read-tree", "--reset", "-u", wanted])):
            return False
        done(wanted)
        return True
