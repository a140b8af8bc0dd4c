"""Kills processes of one installation at moments that a seed decides."""

import contextlib
import os
import random
import signal
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tasks_app.management import spare

KINDS = ("worker", "claude", "web", "valkey")
WORDS = {"worker": "dashboard.worker", "claude": "--output-format", "web": "daphne", "valkey": "valkey-server"}


def of_home(home: Path, kind: str) -> list[int]:
    """Return the pids of the processes of that kind that belong to the home, found by environment or command line."""
    found = []
    for process in psutil.process_iter(["pid"]):
        try:
            line = " ".join(process.cmdline())
            ours = str(home) in line or str(home) in " ".join(process.environ().values())
            if ours and WORDS[kind] in line and process.status() != psutil.STATUS_ZOMBIE and not spare.waits(process):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


@dataclass
class Killer:
    """From `start` to `stop`: every few seconds, kill -9 of a random process of a random kind."""

    home: Path
    seed: int
    most: int = 5
    killed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _live(self) -> None:
        begun = time.monotonic()
        # the first victims are never left to chance: each seed kills a worker or a Claude process at least once
        kinds = [self._random.choice(KINDS[:2]), *self._random.choices(KINDS, k=self.most - 1)]
        for kind in kinds:
            if self._stopped.wait(self._random.uniform(0.5, 4.5)):
                return
            while not (pids := of_home(self.home, kind)):
                if self._stopped.wait(0.1):
                    return
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._random.choice(pids), signal.SIGKILL)
                self.killed.append(f"{kind} at {time.monotonic() - begun:.1f} s")
