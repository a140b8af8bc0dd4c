"""The killer of the chaos scenario: at moments that a seed decides it does to an installation what life does."""

import contextlib
import os
import random
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil
from django.db import DatabaseError, connection

from bench.clock import WITHOUT
from bench.desk import Desk, of_home
from dashboard.celery import app
from tasks_app import wake
from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import OPEN_RUN
from tasks_app.models import Run

FREEZE_S = LEASE_S + 4.0
"""Longer than a lease and a sweep: somebody else has the frozen worker's runs when it goes on."""
FULL_S = 2.5
TWIN_S = 6.0
DUPLICATES = 5
OFTEN = ("worker", "claude", "web")
"""What dies most in life is killed most here."""


@dataclass
class Killer:
    """From `start` to `stop`: an act every `pause_s` seconds on average. What was done is in `acts`, in words."""

    desk: Desk
    seed: int
    most: int = 30
    pause_s: float = 3.0
    acts: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    left: dict[str, str] = field(default_factory=dict)
    """What could not be done here, and why."""

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._frozen: list[tuple[float, psutil.Process]] = []
        self._kinds = self._possible()

    def _possible(self) -> dict[str, Callable[[], bool]]:
        kinds: dict[str, Callable[[], bool]] = {
            "worker": lambda: self._kill("worker"),
            "claude": lambda: self._kill("claude"),
            "web": lambda: self._kill("web"),
            "valkey": lambda: self._kill("valkey"),
            "valkey without its data": self._lose_valkey,
            "frozen worker": self._freeze,
            "duplicate nudges": self._duplicate,
            "lost nudges": self._lose_nudges,
            "twin worker": self._twin,
        }
        if self.desk.place.clock is not None:
            kinds["clock jump"] = self._set_clock
        else:
            self.left["clock jump"] = WITHOUT
        if self.desk.place.cluster is not None:
            kinds["postgres"] = self._restart_postgres
        if self.desk.place.small_disk:
            kinds["full disk"] = self._fill_disk
        else:
            self.left["full disk"] = "needs root on Linux: the home is a small file system of its own"
        return kinds

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Stop killing; thaw what is frozen."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        self._thaw(everything=True)
        if self.desk.place.clock is not None:
            self.desk.place.clock.set(0)

    def _live(self) -> None:
        begun = time.monotonic()
        order = list(self._kinds)
        self._random.shuffle(order)
        # each kind comes once before any comes twice
        weights = [3 if kind in OFTEN else 1 for kind in self._kinds]
        queue = [self._random.choice(["worker", "claude"]), *order]
        while len(self.acts) < self.most:
            if self._stopped.wait(self._random.uniform(0.2, 2 * self.pause_s)):
                return
            self._thaw()
            kind = queue.pop(0) if queue else self._random.choices(list(self._kinds), weights)[0]
            try:
                acted = self._kinds[kind]()
            except (OSError, DatabaseError, psutil.Error) as error:
                self.acts.append(f"{kind} failed: {type(error).__name__}")
                continue
            if acted:
                self.done[kind] += 1
                self.acts.append(f"{kind} at {time.monotonic() - begun:.1f} s")
        while self._frozen and not self._stopped.wait(0.2):  # the last act: it goes on when its time is over, as any other
            self._thaw()

    def _pick(self, kind: str) -> psutil.Process | None:
        frozen = {process.pid for _, process in self._frozen}
        found = [process for process in of_home(self.desk.place.home, kind) if process.pid not in frozen]
        if kind == "worker":  # one that holds runs, where there is one: an idle one is no loss
            busy = {process.ppid() for process in of_home(self.desk.place.home, "claude")}
            found = [process for process in found if process.pid in busy] or found
        return self._random.choice(sorted(found, key=lambda process: process.pid)) if found else None

    def _kill(self, kind: str) -> bool:
        victim = self._pick(kind)
        if victim is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.kill()
        return victim is not None

    def _lose_valkey(self) -> bool:
        killed = self._kill("valkey")
        shutil.rmtree(self.desk.place.home / "valkey", ignore_errors=True)
        return killed

    def _freeze(self) -> bool:
        victim = self._pick("worker")
        if victim is None or self._frozen:
            return False
        victim.send_signal(signal.SIGSTOP)
        self._frozen.append((time.monotonic() + FREEZE_S, victim))
        return True

    def _thaw(self, *, everything: bool = False) -> None:
        now = time.monotonic()
        due = [process for at, process in self._frozen if everything or at <= now]
        self._frozen = [(at, process) for at, process in self._frozen if process not in due]
        for process in due:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)

    def _set_clock(self) -> bool:
        """Workers and web are an hour off; on SQLite, whose clock is theirs, a minute: every lease is over, or lasts too long."""
        assert self.desk.place.clock is not None
        far = 3600 if self.desk.place.cluster is not None else 60
        self.desk.place.clock.set(self._random.choice([-far, far]))
        return True

    def _duplicate(self) -> bool:
        ids = list(Run.objects.filter(status__in=[status.value for status in OPEN_RUN]).values_list("pk", flat=True)[:20])
        connection.close()
        return sum(wake.nudge(run_id) for run_id in ids for _ in range(DUPLICATES)) > 0

    def _lose_nudges(self) -> bool:
        try:
            with app.connection_for_write() as broker:
                broker.default_channel.queue_purge("crewdesk")  # type: ignore[attr-defined]
        except Exception:  # kombu wraps each transport's own errors; the server may just be dead
            return False
        return True

    def _twin(self) -> bool:
        """A second worker under the name of the first, for a while; then it dies without a word."""
        twin = self.desk.extra_worker(1)
        self._stopped.wait(TWIN_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(twin.pid, signal.SIGKILL)
        twin.wait()
        return True

    def _restart_postgres(self) -> bool:
        assert self.desk.place.cluster is not None
        self.desk.place.cluster.restart()
        return True

    def _fill_disk(self) -> bool:
        filler = self.desk.place.home / "filler"
        try:
            with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(b"\0" * 1_048_576)
            self._stopped.wait(FULL_S)
        finally:
            filler.unlink(missing_ok=True)
        return True
