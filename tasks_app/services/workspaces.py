"""Workspaces: the folder a team works in. What is kept of its files is in `snapshots`."""

import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, cast

from django.conf import settings

from tasks_app.domain.errors import Conflict, Invalid

logger = logging.getLogger(__name__)
GIT_TIMEOUT_S = 120
ALONE = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
}
MOST_MEMORY_KIB = 4 * 2**20
FRUGAL = (
    *("-c", "pack.threads=2", "-c", "pack.windowMemory=256m"),
    *("-c", "core.packedGitWindowSize=32m", "-c", "core.packedGitLimit=512m"),
)
READS_FILES = {"GIT_ALLOW_PROTOCOL": "file"}
"""For a clone of a folder, or what comes from a bundle."""
SKIPPED = (".git", ".venv", "node_modules", "__pycache__")

_held = threading.local()


def root(slug: str) -> Path:
    """The private folder of a team: its scratch copy and its snapshots."""
    return Path(settings.HOME) / "workspaces" / slug


def prepare(slug: str, *, source: str, mode: str, ref: str | None, base: Path, scratch: bool) -> Path:
    """Make the folder the team works in and return it. `scratch` (a rehearsal) never works in place.

    Raises `Invalid` naming the field where the source is not there, is not a repository, or cannot be copied, and `Conflict`
    where another team of that name has it already; then nothing is left behind.
    """
    folder = source_folder(source, base)
    claim(slug)
    try:
        return _fill(slug, folder, mode=mode, ref=ref, scratch=scratch)
    except Exception:
        remove(slug)
        raise


def source_folder(source: str, base: Path) -> Path | None:
    """Return the folder that a plan names, None where it names none. Raises `Invalid` where it is not there, or shut."""
    if not source:
        return None
    try:
        folder = (base / source).expanduser().resolve()
        is_there = folder.is_dir()
    except (OSError, RuntimeError) as error:  # a folder around it that is not ours to look into, a name too long, a loop
        why = getattr(error, "strerror", None) or error
        raise Invalid(f"The workspace {source} cannot be used: {why}.", field="workspace.path") from None
    if not is_there:
        raise Invalid(f"The workspace {folder} is not a folder.", field="workspace.path")
    return folder


def must_be_usable(source: str, *, mode: str, base: Path) -> None:
    """Raise `Invalid` where `prepare` would refuse that folder, as far as that can be told without copying it."""
    folder = source_folder(source, base)
    if folder is not None and mode == "copy":
        _must_not_hold(folder, root("x"))
    elif folder is not None and mode == "git":
        asked = run_git(["git", "ls-remote", "--quiet", "--", str(folder)], env=READS_FILES)
        if asked.returncode:
            raise _not_cloned(asked)


def must_isolate() -> None:
    """Raise `Invalid` where this machine cannot keep commands in a sandbox, saying what is missing."""
    if sys.platform == "darwin":  # Claude Code uses the system's own there, by this very program
        _must_work(["sandbox-exec", "-p", "(version 1) (allow default)", "/usr/bin/true"], "")
        return
    missing = [name for name in ("bwrap", "socat") if shutil.which(name) is None]
    if missing:
        raise Invalid(
            f"This machine cannot run a sandbox: {' and '.join(missing)} not found. Debian: apt-get install bubblewrap socat. "
            "Or leave sandbox out: commands can then do whatever the rules allow.",
            field="limits.sandbox",
        )
    _must_work(
        ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-user", "--unshare-net", "--unshare-pid", "true"],
        "In a container, allow user namespaces (docs/operations.md). ",
    )


def _must_work(command: list[str], hint: str) -> None:
    tried = run_git(command)
    if tried.returncode:
        raise Invalid(
            f"This machine does not let a sandbox be made: {tried.stderr.strip()[:200].rstrip('.')}. {hint}Or leave sandbox out.",
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


def claim(slug: str) -> None:
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
    _must_not_hold(folder, work)
    try:
        shutil.copytree(folder, work, symlinks=True, ignore=shutil.ignore_patterns(*SKIPPED))
    except (OSError, shutil.Error) as error:
        raise Invalid(f"The workspace cannot be copied: {error}", field="workspace.path") from None


def _must_not_hold(folder: Path, ours: Path) -> None:
    if ours.resolve().is_relative_to(folder):
        raise Invalid(f"The workspace {folder} contains Crewdesk's own folder and cannot be copied.", field="workspace.path")


def _clone(folder: Path, work: Path, ref: str | None, slug: str) -> None:
    if ref and not re.fullmatch(r"[\w][\w./-]*", ref):
        raise Invalid(f"“{ref}” is not a branch, tag or commit.", field="workspace.ref")
    done = run_git(["git", "clone", "--quiet", "--no-hardlinks", "--", str(folder), str(work)], env=READS_FILES)
    if done.returncode == 0:
        done = run_git(["git", "-C", str(work), "checkout", "--quiet", "-b", f"crewdesk/{slug}", *([ref, "--"] if ref else [])])
    if done.returncode:
        raise _not_cloned(done)


def _not_cloned(tried: subprocess.CompletedProcess[str]) -> Invalid:
    return Invalid(f"The repository cannot be cloned: {tried.stderr.strip()[:300]}", field="workspace.path")


def has_git() -> bool:
    """Whether git is there: on a Mac without developer tools, /usr/bin/git only opens a window that offers to get them."""
    found = shutil.which("git")
    return found is not None and (sys.platform != "darwin" or found != "/usr/bin/git" or _has_developer_tools())


@cache
def _has_developer_tools() -> bool:
    try:
        return subprocess.run(["xcode-select", "-p"], capture_output=True, timeout=GIT_TIMEOUT_S, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def git_environment() -> dict[str, str]:
    """What git may know: no configuration but ours."""
    return {"PATH": os.environ.get("PATH", ""), "HOME": str(settings.HOME), **ALONE}


def in_limits(command: Sequence[str]) -> list[str]:
    """Return a command of git that reads objects which anybody may have made: a pack of 300 bytes can ask for any memory.

    A Mac knows no such limit and goes on without.
    """
    limit = f'ulimit -v {MOST_MEMORY_KIB} 2>/dev/null; exec "$@"'
    return ["/bin/sh", "-c", limit, "sh", command[0], *FRUGAL, *command[1:]]


@contextmanager
def held_by_git(descriptor: int) -> Iterator[None]:
    """Let every git that this thread starts meanwhile hold an open file, too: a lock on it lasts as long as any of them lives."""
    before = _held_files()
    _held.files = (*before, descriptor)
    try:
        yield
    finally:
        _held.files = before


def _held_files() -> tuple[int, ...]:
    found: tuple[int, ...] = getattr(_held, "files", ())
    return found


def run_git(
    command: list[str],
    *,
    stdin: str | None = None,
    timeout_s: float = GIT_TIMEOUT_S,
    env: Mapping[str, str] | None = None,
    limited: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run git without any configuration but ours; code 127 where it is not there or takes too long.

    It speaks to no other repository, nor fetches what one lacks, unless `env` says so (`READS_FILES`). `limited`:
    as in `in_limits`. What it prints comes as it is, for it may be names: no end of a line is turned into another.
    """
    if command[0] == "git" and not has_git():
        return subprocess.CompletedProcess(command, 127, "", "git is not installed")
    try:
        done = subprocess.run(
            in_limits(command) if limited else command,
            input=None if stdin is None else os.fsencode(stdin),
            capture_output=True,
            timeout=timeout_s,
            env={**git_environment(), **(env or {})},
            pass_fds=_held_files(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 127, "", f"it took longer than {timeout_s:g} s")
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))
    return subprocess.CompletedProcess(command, done.returncode, os.fsdecode(done.stdout), done.stderr.decode(errors="replace"))


def failed(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether git could not do what it must; then the log says why. Not where it is not installed: `doctor` says that."""
    if done.returncode and has_git():
        said = " ".join(done.stderr.split())[:400] or f"it ended with {done.returncode}"
        logger.warning("git failed: %s; %s", said, shlex.join(done.args)[-200:])
    return done.returncode != 0


def why_not() -> str:
    """Why git could not keep or put back files just now, in words that end a sentence."""
    return "git could not do it (the log says why)" if has_git() else "git is not installed"


def start_of(command: Sequence[str], most: int) -> tuple[str, bool]:
    """Return the first `most` bytes that git prints, and whether that is all, for what may print more than there is memory.

    Nothing where git is not there, or fails.
    """
    if not has_git():
        return "", False
    nothing = subprocess.DEVNULL
    try:
        with subprocess.Popen(
            in_limits(command),
            stdin=nothing,
            stdout=subprocess.PIPE,
            stderr=nothing,
            env=git_environment(),
            pass_fds=_held_files(),
        ) as process:
            late = threading.Timer(GIT_TIMEOUT_S, process.kill)
            late.start()
            try:
                found = cast(IO[bytes], process.stdout).read(most)
                whole = len(found) < most and process.wait() == 0
            finally:
                late.cancel()
                process.kill()
    except OSError:
        return "", False
    return found.decode(errors="surrogateescape").replace("\r\n", "\n").replace("\r", "\n"), whole


def remove(slug: str) -> None:
    """Remove what `prepare` made; a folder worked in place stays."""
    shutil.rmtree(root(slug), ignore_errors=True)
