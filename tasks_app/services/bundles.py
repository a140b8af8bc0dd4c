"""A workspace as git bundles: its snapshots, and the repository of a team that has one; written to files and read again."""

import logging
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tasks_app.domain.errors import Invalid
from tasks_app.domain.team_file import REPOSITORY, SNAPSHOTS, refuse
from tasks_app.services import own_repository, snapshot_store, snapshots, unpacked, workspaces

logger = logging.getLogger(__name__)
REFS = f"{snapshots.REFS}*"
_NOT_OURS = ("Blob", "Large", "LineLength", "Missing", "Name", "Parse", "Path", "Symlink", "Update", "Url")
"""What a newer git finds wrong in `.gitmodules` and `.gitattributes`: an agent may write them as it likes, we use neither."""
FETCH = (
    *("-c", "transfer.fsckObjects=true", "-c", "fetch.unpackLimit=1"),  # 1: kept packed, as small as it came
    *(word for end in _NOT_OURS for file in ("modules", "attributes") for word in ("-c", f"fetch.fsck.git{file}{end}=ignore")),
    *("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--no-write-fetch-head", "--"),
)


def keep(slug: str, workspace: str, folder: Path) -> tuple[str, list[str]]:
    """Snapshot the workspace and write everything that was ever kept of it; returns the snapshot and the members written.

    ("", []) where git is not there or the workspace is gone: the file then has no files. So it has none where an agent has made
    more of them than `put_back` takes: else no backup with this team would be kept. The log says so.
    """
    head = snapshots.take(slug, workspace) if Path(workspace).is_dir() else ""
    if not head:
        return "", []
    seen = unpacked.Seen()
    with suppress(Invalid):  # it takes seconds, and may find gone what somebody prunes: what is right is found out below
        unpacked.check_all(workspaces.root(slug) / snapshot_store.STORE, SNAPSHOTS, seen)
    with snapshot_store.store_of(slug) as store:
        try:
            unpacked.check_all(store, SNAPSHOTS, seen)
        except Invalid as problem:
            logger.warning("the files of %s are left out of the export: %s", slug, problem.message)
            return "", []
        done = _git(store, "bundle", "create", "--quiet", str(folder / Path(SNAPSHOTS).name), "--glob=" + REFS)
    if done.returncode:
        return "", []
    own = own_repository.bundle(workspace, folder / Path(REPOSITORY).name)
    return head, [SNAPSHOTS, *([REPOSITORY] if own else [])]


def put_back(slug: str, folder: Path, *, head: str, branch: str) -> None:
    """Make the workspace of a team from the bundles in `folder`. Raises `Invalid` where git does not take them."""
    work = workspaces.root(slug) / "work"
    repository = folder / Path(REPOSITORY).name
    if repository.is_file():
        _clone(repository, work, branch)
    work.mkdir(mode=0o700, exist_ok=True)
    kept = folder / Path(SNAPSHOTS).name
    if not kept.is_file():
        return
    with snapshot_store.store_of(slug) as store:
        fetched = _git(store, *FETCH, str(kept), f"{REFS}:{REFS}", env=workspaces.READS_FILES)
        _must(fetched, SNAPSHOTS)
        _must_be_snapshots(store, head)
        unpacked.check_all(store, SNAPSHOTS)
        if head:
            unpacked.check(store, head, SNAPSHOTS, most=shutil.disk_usage(work).free)
            _check_out(store, work, head)


def _clone(bundle: Path, work: Path, branch: str) -> None:
    there = branch and workspaces.run_git(["git", "bundle", "list-heads", str(bundle), f"refs/heads/{branch}"]).stdout
    on = ["--branch", branch] if there else []
    clone = ["git", "clone", "--quiet", "--no-checkout", "--no-recurse-submodules", *on, "--", str(bundle), str(work)]
    _must(workspaces.run_git(clone, env=workspaces.READS_FILES, limited=True), REPOSITORY)
    workspaces.run_git(["git", "-C", str(work), "remote", "remove", "origin"])
    unpacked.check(work / ".git", "HEAD", REPOSITORY)  # the index names every file
    _must(workspaces.run_git(["git", "-C", str(work), "reset", "--quiet"], limited=True), REPOSITORY)


def _must_be_snapshots(store: Path, head: str) -> None:
    """Raise `Invalid` where a name in the bundle leads to something else than the commit of that name."""
    listed = _git(store, "for-each-ref", "--format=%(refname) %(objecttype) %(objectname)", REFS.rstrip("/*")).stdout
    found = dict(line.split(" ", 1) for line in listed.split("\n") if line)
    odd = [name for name, what in found.items() if what != f"commit {name.removeprefix(snapshots.REFS)}"]
    if odd or (head and f"{snapshots.REFS}{head}" not in found):
        raise refuse("A snapshot in it is none, or is not the one it is called.", path=SNAPSHOTS)


def _check_out(store: Path, work: Path, head: str) -> None:
    index = store / "import.index"
    place = [f"--work-tree={work}", "-C", str(work)]
    try:
        for words in (["read-tree", f"{head}^{{tree}}"], ["checkout-index", "--all", "--force"]):
            _must(_git(store, *place, *words, env={"GIT_INDEX_FILE": str(index)}), SNAPSHOTS)
    finally:
        index.unlink(missing_ok=True)


def _git(store: Path, *words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return workspaces.run_git(["git", f"--git-dir={store}", *words], env=env, limited=True)


def _must(done: subprocess.CompletedProcess[str], member: str) -> None:
    if done.returncode == 127 and not shutil.which("git"):
        raise Invalid("git is not installed here: the files of the team cannot be unpacked. Install git.", field="file")
    if done.returncode:
        raise refuse(f"git does not take it: {done.stderr.strip()[:200]}", path=member)


def commits(slug: str) -> set[str]:
    """Return the ids of every snapshot that is kept."""
    with snapshot_store.store_of(slug) as store:
        return set(_git(store, "for-each-ref", "--format=%(objectname)", REFS.rstrip("/*")).stdout.split())
