"""Workspaces: the folder a team works in, and snapshots of it that never touch the team's own repository."""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from tasks_app.domain.errors import Conflict, Invalid
from tasks_app.domain.text import clean, cut

GIT_TIMEOUT_S = 120
PATCH_LIMIT = 64_000
IDENTITY = (
    "-c",
    "user.name=Crewdesk",
    "-c",
    "user.email=crewdesk@localhost",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "core.hooksPath=/dev/null",
)
SKIPPED = (".git", ".venv", "node_modules", "__pycache__")


def root(slug: str) -> Path:
    """The private folder of a team: its scratch copy and its snapshots."""
    return Path(settings.HOME) / "workspaces" / slug


def prepare(slug: str, *, source: str, mode: str, ref: str | None, base: Path, scratch: bool) -> Path:
    """Make the folder the team works in and return it. `scratch` (a rehearsal) never works in place.

    Raises `Invalid` naming the field where the source is not there, is not a repository, or cannot be copied, and `Conflict`
    where another team of that name has it already; then nothing is left behind.
    """
    folder = source_folder(source, base)
    _claim(slug)
    try:
        return _fill(slug, folder, mode=mode, ref=ref, scratch=scratch)
    except Exception:
        remove(slug)
        raise


def source_folder(source: str, base: Path) -> Path | None:
    """Return the folder that a plan names, None where it names none. Raises `Invalid` where it is not there."""
    folder = (base / source).expanduser().resolve() if source else None
    if folder is not None and not folder.is_dir():
        raise Invalid(f"The workspace {folder} is not a folder.", field="workspace.path")
    return folder


def must_isolate() -> None:
    """Raise `Invalid` where this machine cannot keep commands in a sandbox, saying what is missing."""
    missing = [name for name in ("bwrap", "socat") if shutil.which(name) is None]
    if missing:
        raise Invalid(
            f"This machine cannot run a sandbox: {' and '.join(missing)} not found. Debian: apt-get install bubblewrap socat. "
            "Or leave sandbox out: commands can then do whatever the rules allow.",
            field="limits.sandbox",
        )
    tried = _run(["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-user", "--unshare-net", "--unshare-pid", "true"])
    if tried.returncode:
        raise Invalid(
            f"This machine does not let a sandbox be made: {tried.stderr.strip()[:200]} In a container, allow user namespaces "
            "(docs/operations.md). Or leave sandbox out.",
            field="limits.sandbox",
        )


def _fill(slug: str, folder: Path | None, *, mode: str, ref: str | None, scratch: bool) -> Path:
    work = root(slug) / "work"
    if folder is None:
        work.mkdir(mode=0o700)
        return work
    if mode == "in_place" and not scratch:
        return folder
    if mode == "git":
        _clone(folder, work, ref, slug)
    else:
        _copy(folder, work)
    return work


def _claim(slug: str) -> None:
    """The folder is what makes a name this team's own while it is being made: of two that start at once, one gets it."""
    try:
        root(slug).mkdir(parents=True, mode=0o700)
    except FileExistsError:
        raise Conflict(f"A team named “{slug}” is being started at this moment. Try again.", field="team") from None


def taken() -> set[str]:
    """Names whose folder exists, whether or not their team still does."""
    base = root("x").parent
    return {path.name for path in base.iterdir()} if base.is_dir() else set()


def _copy(folder: Path, work: Path) -> None:
    if work.resolve().is_relative_to(folder):
        raise Invalid(f"The workspace {folder} contains Crewdesk's own folder and cannot be copied.", field="workspace.path")
    try:
        shutil.copytree(folder, work, symlinks=True, ignore=shutil.ignore_patterns(*SKIPPED))
    except (OSError, shutil.Error) as error:
        raise Invalid(f"The workspace cannot be copied: {error}", field="workspace.path") from None


def _clone(folder: Path, work: Path, ref: str | None, slug: str) -> None:
    if ref and not re.fullmatch(r"[\w][\w./-]*", ref):
        raise Invalid(f"“{ref}” is not a branch, tag or commit.", field="workspace.ref")
    done = _run(["git", "clone", "--quiet", "--no-hardlinks", "--", str(folder), str(work)])
    if done.returncode == 0:
        done = _run(["git", "-C", str(work), "checkout", "--quiet", "-b", f"crewdesk/{slug}", *([ref] if ref else [])])
    if done.returncode:
        raise Invalid(f"The repository cannot be cloned: {done.stderr.strip()[:300]}", field="workspace.path")


def _run(command: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    clean_env = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(settings.HOME),
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
        **env,
    }
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=GIT_TIMEOUT_S, env=clean_env, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))


@contextmanager
def _snapshots(slug: str) -> Iterator[Path]:
    """The team's snapshot repository, locked: git's index takes one writer."""
    folder = root(slug)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "snapshots.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        store = folder / "snapshots.git"
        if not store.is_dir():
            _run(["git", "init", "--quiet", "--bare", str(store)])
        yield store


def snapshot(slug: str, workspace: str) -> str:
    """Keep the workspace as it is now; returns the snapshot's id, or "" where git is missing or fails."""
    with _snapshots(slug) as store:
        git = ["git", *IDENTITY, f"--git-dir={store}", f"--work-tree={workspace}", "-C", workspace]
        if _run([*git, "add", "-A", "--", "."]).returncode:
            return ""
        tree = _run([*git, "write-tree"])
        commit = _run([*git, "commit-tree", tree.stdout.strip(), "-m", "snapshot"]) if not tree.returncode else tree
        if commit.returncode:
            return ""
        name = commit.stdout.strip()
        _run([*git, "update-ref", f"refs/snapshots/{name}", name])
        return name


def diff(slug: str, old: str, new: str) -> dict[str, object]:
    """Return {"files": [...], "summary": "3 files changed, …", "patch": text, "cut": bool} between two snapshots."""
    if not old or not new:
        return {"files": [], "summary": "not available: git is not installed", "patch": "", "cut": False}
    with _snapshots(slug) as store:
        git = ["git", f"--git-dir={store}", "-c", "core.quotepath=off"]
        names = _run([*git, "diff", "--name-only", old, new]).stdout.splitlines()
        summary = _run([*git, "diff", "--shortstat", old, new]).stdout.strip()
        patch = clean(_run([*git, "diff", "--no-color", old, new]).stdout)
    return {
        "files": names[:200],
        "summary": summary or "no file changed",
        "patch": cut(patch, PATCH_LIMIT),
        "cut": len(patch) > PATCH_LIMIT,
    }


def changed(slug: str, old: str, new: str) -> set[str]:
    """Return the files that differ between two snapshots, all of them, by their path in the workspace."""
    if not old or not new or old == new:
        return set()
    with _snapshots(slug) as store:
        return _names(
            _run(["git", f"--git-dir={store}", "diff-tree", "-r", "-z", "--no-renames", "--name-only", old, new]).stdout
        )


def within(workspace: str, names: Iterable[str]) -> set[str]:
    """Return these files by their path in the workspace; what lies outside it or is the workspace's own `.git` is left out."""
    base = Path(workspace).resolve()
    found = {(base / name).parent.resolve() / Path(name).name for name in names if Path(name).name}
    inside = {path.relative_to(base) for path in found if path.is_relative_to(base) and path != base}
    return {str(path) for path in inside if ".git" not in path.parts and ".." not in path.parts}


def restore(slug: str, workspace: str, snapshot_id: str, files: Iterable[str]) -> list[str]:
    """Put single files back as they were in a snapshot (absent then: removed now); returns those put back, by their path.

    What the workspace's own .gitignore names is in no snapshot: it may have been there before, so it stays.
    """
    wanted = sorted(within(workspace, files))
    if not snapshot_id or not wanted:
        return []
    with _snapshots(slug) as store:
        git = ["git", *IDENTITY, f"--git-dir={store}", f"--work-tree={workspace}", "-C", workspace]
        there = _names(_run([*git, "ls-tree", "-r", "-z", "--name-only", "--full-tree", snapshot_id]).stdout)
        listed = store.parent / "names"
        absent = [name for name in wanted if name not in there]
        listed.write_text("\0".join(absent), "utf-8", "surrogateescape")
        ignored = _names(_run(["sh", "-c", 'exec "$@" <"$0"', str(listed), *git, "check-ignore", "-z", "--stdin"]).stdout)
        removed = [name for name in absent if name not in ignored and _removed(Path(workspace, name))]
        back = [name for name in wanted if name in there]
        listed.write_text("\0".join(back), "utf-8", "surrogateescape")
        checkout = [*git, "--literal-pathspecs", "checkout", snapshot_id, f"--pathspec-from-file={listed}", "--pathspec-file-nul"]
        done = back if back and _run(checkout).returncode == 0 else []
        listed.unlink()
    return sorted([*removed, *done])


def _names(listed: str) -> set[str]:
    return {name for name in listed.split("\0") if name}


def _removed(path: Path) -> bool:
    if not (path.is_symlink() or path.is_file()):
        return False
    path.unlink()
    return True


def remove(slug: str) -> None:
    """Remove what `prepare` made; a folder worked in place stays."""
    shutil.rmtree(root(slug), ignore_errors=True)
