"""Becomes the Claude Code process of one run: clean environment, own session, dies with the worker. Standard library only.

Runs as `python -I -S start_process.py <arguments of the CLI>`, started by `launch.sh`; its orders are environment variables:
`CREWDESK_KEEP` (names to keep, comma-separated), `CREWDESK_CLI` (the binary), `CREWDESK_PARENT` (pid of the worker),
`CREWDESK_PIDFILE` (where to write the pid, which is also that of the process group and session).
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>; survives execve of a binary that is not set-uid
WATCHDOG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "watchdog.py")
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
    """Have a child kill the CLI once `parent` is gone, and what descends from it when it ends, however it ends."""
    cli = os.getpid()
    if os.fork():
        return
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # else it would hold the pipes of the CLI open
        os.dup2(null, stream)
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "CREWDESK_RUN")}
    os.execve(sys.executable, [sys.executable, "-I", "-S", WATCHDOG, str(cli), str(parent)], environment)  # noqa: S606 - as above


def _write_pid(path: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(handle, str(os.getpid()).encode())
    os.close(handle)


if __name__ == "__main__":
    main()
