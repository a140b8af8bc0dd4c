"""Fixtures of the core's tests: hints are recorded instead of sent, and the database threads give their connections back."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from django.db import connection

from tasks_app import wake
from tasks_app.execution import db


@dataclass
class Hints:
    """What would have gone to Redis. `nudging` False: the broker does not answer."""

    browsers: list[tuple[int, int, tuple[str, ...]]] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    nudges: list[str] = field(default_factory=list)
    nudging: bool = True

    def nudge(self, run_id: str) -> bool:
        """Remember a nudge."""
        self.nudges.append(run_id)
        return self.nudging


@pytest.fixture(autouse=True)
def hints(monkeypatch: pytest.MonkeyPatch) -> Hints:
    """Hints may be lost, so here every one is; what was sent can be looked at."""
    found = Hints()
    monkeypatch.setattr(wake, "browsers", lambda team, seq, keys: found.browsers.append((team, seq, tuple(keys))))
    monkeypatch.setattr(wake, "run", found.runs.append)
    monkeypatch.setattr(wake, "nudge", found.nudge)
    return found


@pytest.fixture
def database_threads(transactional_db: None) -> Iterator[None]:
    """A real database for `execution.db`, whose threads keep connections: they are given back afterwards."""
    yield
    for pool, threads in ((db._pool, db.THREADS), (db._aside, db.ASIDE_THREADS), (db._line, 1)):
        barrier = threading.Barrier(threads)
        for done in [pool.submit(_give_back, barrier) for _ in range(threads)]:
            done.result(20)


def _give_back(barrier: threading.Barrier) -> None:
    barrier.wait(10)
    connection.close()
