"""The watchdog of `up`: a process that reads a pipe and, when the other end dies without a word, ends what was left behind.

Each line is the full list of process groups to end. The line `done` means that `up` ended them itself.
"""

import signal
import sys
from pathlib import Path
from typing import BinaryIO

from tasks_app.management import processes
from tasks_app.management.embedded import EmbeddedServer

DONE = "done"
PATIENCE_S = 9.0


def watch(pipe: BinaryIO) -> list[int]:
    """Return the groups that are left when the pipe closes; none when the last word was `done`."""
    last = ""
    for line in pipe:
        if line.endswith(b"\n"):
            last = line.decode("ascii", "replace").strip()
    return [] if last == DONE else [int(word) for word in last.split() if word.isdigit()]


def main(home: str, socket: str) -> None:
    """Watch standard input, then clean up; `socket` is empty where the server is not embedded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    groups = watch(sys.stdin.buffer)
    if not groups:
        return
    processes.end_groups(groups, patience_s=PATIENCE_S)
    if socket:
        server = EmbeddedServer(Path(home), Path(socket))
        server.adopt()
        server.leave()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
