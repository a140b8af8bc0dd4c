"""The write-ahead log of SQLite stays short, though there is no moment without a reader."""

import itertools
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection, transaction

from dashboard.sqlite import WAIT_S, log
from tasks_app.models import Team
from tests import factories

pytestmark = [
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL keeps its log by itself"),
    pytest.mark.django_db(transaction=True),
]
SHORT = 200_000
HELD_S = 0.02


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "LIMIT", SHORT)
    monkeypatch.setattr(log, "LOOK_S", 0.0)
    monkeypatch.setattr(log, "AGAIN_S", 0.0)


def reader() -> sqlite3.Connection:
    """Return a connection that has begun to read."""
    found = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    found.execute("BEGIN")
    found.execute("SELECT count(*) FROM tasks_app_team").fetchone()
    return found


@pytest.fixture
def read_all_the_time(transactional_db: None) -> Iterator[None]:
    """Readers, of whom each begins before the one before has ended."""
    over = threading.Event()

    def read() -> None:
        reads = reader()
        while not over.wait(HELD_S):
            following = reader()
            reads.close()
            reads = following
        reads.close()

    thread = threading.Thread(target=read)
    thread.start()
    yield
    over.set()
    thread.join(10)


def write(times: int, enough: Callable[[list[int]], bool] = lambda _: False) -> list[int]:
    """Return how long the log was after each commit."""
    team, sizes = factories.TeamFactory.create(), list[int]()
    grows = Path(f"{connection.settings_dict['NAME']}-wal")
    for number in range(times):
        with transaction.atomic():
            Team.objects.filter(pk=team.pk).update(goal=f"{number % 10}" * 20_000)
        sizes.append(grows.stat().st_size)
        if enough(sizes):
            break
    return sizes


def emptied(sizes: list[int]) -> int:
    return sum(after < before for before, after in itertools.pairwise(sizes))


@pytest.mark.usefixtures("short", "read_all_the_time")
def test_a_log_that_is_read_all_the_time_is_emptied() -> None:
    sizes = write(2_000, lambda sizes: emptied(sizes) >= 3)
    assert emptied(sizes) >= 3
    assert max(sizes) < 3 * SHORT


@pytest.mark.usefixtures("short")
def test_a_reader_who_stays_holds_up_a_writer_for_a_moment_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(log, "PATIENCE_MS", 10)
    stays = reader()
    sizes = write(30)
    assert emptied(sizes) == 0
    assert "is being read all the time" in caplog.text
    stays.close()
    assert emptied([sizes[-1], *write(1)]) == 1
    assert connection.cursor().execute("PRAGMA busy_timeout").fetchone() == (WAIT_S * 1000,)


@pytest.mark.usefixtures("short")
def test_a_reader_who_stays_for_long_holds_up_one_writer_of_many(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(log, "PATIENCE_MS", 10)
    monkeypatch.setattr(log, "AGAIN_S", 3600.0)
    stays = reader()
    write(30)
    stays.close()
    assert len([line for line in caplog.messages if "is being read all the time" in line]) == 1


@pytest.mark.usefixtures("short")
def test_a_fault_in_it_fails_no_commit(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def breaks(*given: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(log.Log, "keep_short", breaks)
    with transaction.atomic():
        team = factories.TeamFactory.create()
    assert Team.objects.filter(pk=team.pk).exists()
    assert [record.levelno for record in caplog.records if "could not be emptied" in record.message] == [logging.ERROR]
    with transaction.atomic():
        team.delete()  # the turn was left
