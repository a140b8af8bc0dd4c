"""A spare: a process that has loaded all that a service needs and waits to become it, so that a dead one is replaced at once.

Loading Django, Celery and the SDK takes a worker two seconds on the processor, most of the time that a run waits after a
`kill -9`. `python -m tasks_app.management.spare MODULE…` loads the modules, reads one line and goes on as `python -m …`.
"""

import json
import os
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from tasks_app import own_memory

if __name__ == "__main__":
    own_memory.keep_private()  # before what takes long to load

import django
import psutil

from tasks_app.loading import uncollected
from tasks_app.management import processes
from tasks_app.management.service import Service

NAME = "tasks_app.management.spare"


class Spare:
    """One spare process, from its start until it has become a service or is dismissed."""

    def __init__(self, service: Service) -> None:
        self.loads = service.loads
        argv = (sys.executable, "-m", NAME, *self.loads)
        self.process = processes.spawn(argv, log=service.log, env=service.env, cwd=service.cwd, stdin=subprocess.PIPE)

    def lives(self) -> bool:
        """Whether it can still become anything."""
        return self.process.poll() is None

    def become(self, service: Service) -> subprocess.Popen[bytes] | None:
        """Let it go on as the service and return its process; None where it cannot: then the service starts as any other."""
        if service.loads != self.loads or not self.lives() or self.process.stdin is None:
            return None
        order = {"module": service.argv[2], "argv": service.argv[3:], "log": str(service.log)}
        try:
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.close()
        except OSError:
            return None
        return self.process


def waits(process: psutil.Process) -> bool:
    """Whether it is a spare that has become nothing yet: one that serves has more than one thread. Raises psutil's errors."""
    return NAME in process.cmdline() and process.num_threads() == 1


def main(modules: list[str]) -> None:
    """Load, wait, become. The end of standard input without a line means that nobody needs a spare any more."""
    with uncollected():
        if "DJANGO_SETTINGS_MODULE" in os.environ:
            django.setup()
        for name in modules:
            import_module(name)
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return
    order = json.loads(line)
    _point_at(Path(order["log"]))
    sys.argv = [order["module"], *order["argv"]]
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


def _point_at(log: Path) -> None:
    """Let the standard files be those of a service: nothing to read, everything said appended to its log."""
    with log.open("ab") as file, open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


if __name__ == "__main__":
    main(sys.argv[1:])
