"""Becomes the Claude Code process of one run: clean environment, own session, dies with the worker. Standard library only.

Runs as `python -I -S start_process.py <arguments of the CLI>`, started by `launch.sh`; its orders are environment variables:
`CREWDESK_KEEP` (names to keep, comma-separated), `CREWDESK_CLI` (the binary), `CREWDESK_PARENT` (pid of the worker),
`CREWDESK_PIDFILE` (where to write the pid, which is also that of the process group and session).
"""

import ctypes
import os
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>; survives execve of a binary that is not set-uid
LOOK_S = 0.5
CENSUS_S = 2.0
PS_S = 5
ORPHANED = 3
"""Exit code where the worker was gone before its agent began."""


def main() -> None:
    """Replace this process by the CLI, or exit with `ORPHANED`."""
    orders = {name: os.environ[f"CREWDESK_{name}"] for name in ("KEEP", "CLI", "PARENT", "PIDFILE")}
    parent = int(orders["PARENT"])
    os.setsid()  # before the watch is set: the watchdog kills by group
    if os.environ.get("CREWDESK_WATCHDOG") == "1" or not _die_with_parent():
        _start_watchdog(parent)
    if os.getppid() != parent:  # it died before the watch was set: no signal would ever come
        sys.exit(ORPHANED)
    _write_pid(orders["PIDFILE"])
    keep = set(orders["KEEP"].split(","))
    environment = {name: value for name, value in os.environ.items() if name in keep}
    os.execve(orders["CLI"], [orders["CLI"], *sys.argv[1:]], environment)  # noqa: S606 - replaces this process, that is the point


def _die_with_parent() -> bool:
    """Ask the kernel for SIGKILL when the thread that started us ends; False where it cannot (macOS)."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def _start_watchdog(parent: int) -> None:
    """Fork a child that kills the CLI once `parent` is gone, and what descends from it when it ends, however it ends."""
    cli = os.getpid()
    if os.fork():
        return
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # else it would hold the pipes of the CLI open
        os.dup2(null, stream)
    known, looked_at = dict[int, str](), 0.0
    while os.getppid() == cli:
        orphaned = not _alive(parent)
        if orphaned or time.monotonic() - looked_at > CENSUS_S:
            known, looked_at = _descendants(cli, known), time.monotonic()
        if orphaned:
            os.kill(cli, signal.SIGKILL)
            break
        time.sleep(LOOK_S)
    _kill_all(known)
    os.killpg(cli, signal.SIGKILL)  # this process included


def _kill_all(known: dict[int, str]) -> None:
    """Kill those of `known` that are still the same processes.

    Nobody else could tell them: macOS shows nobody the environment, and so the marker, of the programs that come with it.
    """
    now = {pid: started for pid, _, started in _table()}
    for pid, started in known.items():
        if now.get(pid) == started:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue


def _descendants(cli: int, known: dict[int, str]) -> dict[int, str]:
    """Return pid and start of all that descend from the CLI or from what did so before (`known`), but for this process."""
    rows = _table()
    found = {pid: started for pid, _, started in rows if known.get(pid) == started}
    while more := [row for row in rows if row[1] in (cli, *found) and row[0] not in (os.getpid(), *found)]:
        found |= {pid: started for pid, _, started in more}
    return found


def _table() -> list[tuple[int, int, str]]:
    """Return (pid, parent, start) of every process, nothing where `ps` cannot say."""
    command = ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "lstart="]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=PS_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [line.split(None, 2) for line in told.stdout.splitlines()]
    return [(int(row[0]), int(row[1]), row[2]) for row in rows if len(row) == 3]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _write_pid(path: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(handle, str(os.getpid()).encode())
    os.close(handle)


if __name__ == "__main__":
    main()
