"""Process groups: started so that they can be ended whole, known by pid and start time so that none is mistaken."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import psutil

LOOK_S = 0.05
CLOCK_SLACK_S = 2.0
"""Start times are counted from the boot, which moves a little whenever the clock is set."""


def spawn(
    argv: Sequence[str],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    keep: Sequence[int] = (),
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a process as leader of its own session, its output appended to `log`; it inherits the open files `keep`."""
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with log.open("ab") as file:
        return subprocess.Popen(
            list(argv),
            stdin=stdin,
            stdout=file,
            stderr=file,
            env=env,
            cwd=cwd,
            pass_fds=tuple(keep),
            start_new_session=True,
        )


def signal_group(group: int, number: signal.Signals) -> None:
    """Send a signal to a whole process group; one that is gone is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def group_lives(group: int) -> bool:
    """Whether any process of the group is left that is more than a zombie."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says so of a group of zombies, too: the table of processes knows
        pass
    return any(_in_group(process, group) for process in psutil.process_iter())


def _in_group(process: psutil.Process, group: int) -> bool:
    try:
        return os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, ProcessLookupError):
        return False


def is_stopped(pid: int) -> bool:
    """Whether somebody has stopped the process (SIGSTOP); one that a debugger looks at is none."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return False


def end_groups(groups: Iterable[int], *, patience_s: float) -> None:
    """End groups: TERM, then KILL for what is left after `patience_s`; returns once all are seen gone (or 2 s after KILL)."""
    left = [group for group in groups if group > 1]
    for group in left:
        signal_group(group, signal.SIGTERM)
    left = _wait_gone(left, patience_s)
    for group in left:
        signal_group(group, signal.SIGKILL)
    _wait_gone(left, 2.0)


def _wait_gone(groups: list[int], patience_s: float) -> list[int]:
    until = time.monotonic() + patience_s
    while groups and time.monotonic() < until:
        groups = [group for group in groups if group_lives(group)]
        if groups:
            time.sleep(LOOK_S)
    return groups


def mark(pid: int) -> str:
    """Return `pid start-time`, which names one process for ever, or an empty text when it is gone."""
    try:
        return f"{pid} {psutil.Process(pid).create_time():.0f}"
    except psutil.Error:
        return ""


def find(text: str) -> psutil.Process | None:
    """Return the living process of a `mark`; None when it is gone or its pid belongs to another one now."""
    pid, _, started = text.strip().partition(" ")
    if not (pid.isdigit() and started.isdigit()):
        return None
    try:
        process = psutil.Process(int(pid))
        same = abs(process.create_time() - int(started)) <= CLOCK_SLACK_S
        alive = same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return None
    return process if alive else None


def tail(log: Path, *, lines: int, limit: int = 16384) -> list[str]:
    """Return the last lines of a log that are not empty; nothing when there is no such file."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - limit))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()][-lines:]
