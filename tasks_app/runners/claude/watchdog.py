"""Ends a Claude Code process with its worker where the kernel does not, and what it leaves behind. Standard library only.

Runs as `python -I -S watchdog.py <pid of the CLI> <pid of the worker>`, a child of the CLI in its process group, started by
`start_process.py`: a file of its own, so that the processes that need none do not load what it needs.
"""

import os
import signal
import subprocess
import sys
import time

LOOK_S = 0.5
CENSUS_S = 2.0
PS_S = 5


def watch(cli: int, parent: int) -> None:
    """Kill the CLI once `parent` is gone; when it has ended, all that descends from it and this process, too."""
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


if __name__ == "__main__":
    watch(int(sys.argv[1]), int(sys.argv[2]))
