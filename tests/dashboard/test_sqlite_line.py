"""Writers of one SQLite file: one after another as they came, whoever holds it, and never two turns for one."""

import sqlite3
import threading
import time
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.db.utils import OperationalError

from dashboard.sqlite import base, line
from tasks_app.models import Team
from tasks_app.services.moments import one_moment
from tests import factories
from tests.services_fixtures import until

on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has a line of its own")


def begun(work: Any, *given: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=given)
    thread.start()
    return thread


def test_turns_are_given_as_they_were_asked_for() -> None:
    queue, order = line.Line(), list[int]()
    assert queue.enter(0)

    def wait(number: int) -> None:
        assert queue.enter(10)
        order.append(number)
        queue.leave()

    threads = []
    for number in range(20):
        threads.append(begun(wait, number))
        until(lambda: len(queue._waiting) == len(threads))
    queue.leave()
    for thread in threads:
        thread.join(10)
    assert order == list(range(20))
    assert queue.enter(0), "the last one has left it free"


def test_who_does_not_get_a_turn_in_time_leaves_the_line() -> None:
    queue = line.Line()
    assert queue.enter(0)
    assert not queue.enter(0.05)
    queue.leave()
    assert queue.enter(0)


class Interrupted:
    """A lock whose wait is broken off, at first before and then after the turn was handed over."""

    def __init__(self, queue: line.Line, *, handed: bool) -> None:
        self.queue, self.handed = queue, handed

    def acquire(self, timeout: float | None = None) -> bool:
        if timeout is not None:
            if self.handed:
                self.queue.leave()
            raise KeyboardInterrupt
        return True

    def release(self) -> None:
        pass


@pytest.mark.parametrize("handed", [False, True])
def test_a_wait_that_is_interrupted_keeps_no_turn(monkeypatch: pytest.MonkeyPatch, *, handed: bool) -> None:
    queue = line.Line()
    assert queue.enter(0)
    with monkeypatch.context() as patched:
        patched.setattr(line.threading, "Lock", lambda: Interrupted(queue, handed=handed))
        with pytest.raises(KeyboardInterrupt):
            queue.enter(10)
    assert not queue._waiting
    if not handed:
        queue.leave()
    assert queue.enter(0)


@pytest.fixture
def other() -> Any:
    """Another process, as far as SQLite can tell."""
    held = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None, check_same_thread=False)
    yield held
    held.close()


def free() -> bool:
    queue = line.of(str(connection.settings_dict["NAME"]))
    if not queue.enter(0):
        return False
    queue.leave()
    return True


def patience() -> int:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        return int(cursor.fetchone()[0])


@on_sqlite
@pytest.mark.django_db(transaction=True)
class TestBackend:
    def test_a_transaction_has_the_turn_until_it_is_over(self) -> None:
        with transaction.atomic():
            assert not free()
            with transaction.atomic():
                factories.TeamFactory()
            assert not free(), "a savepoint is no end"
        assert free()
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            raise ZeroDivisionError
        assert free()
        assert Team.objects.count() == 1

    def test_one_that_only_reads_is_in_nobodys_way(self, other: Any) -> None:
        other.execute("BEGIN IMMEDIATE")
        with one_moment():
            assert Team.objects.count() == 0
            assert free()
        other.execute("ROLLBACK")

    def test_a_connection_that_is_closed_within_has_it_no_more(self) -> None:
        with transaction.atomic():
            connection.close()
            assert free()
        assert free()

    def test_it_waits_for_another_process_and_has_its_patience_again(self, other: Any) -> None:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.3, other.execute, ["COMMIT"])
        timer.start()
        before = time.monotonic()
        with transaction.atomic():
            took = time.monotonic() - before
            factories.TeamFactory()
        timer.join()
        assert took > 0.25
        assert patience() == 20_000

    def test_one_that_never_ends_is_told_of_in_time(self, other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(base, "WAIT_S", 0.2)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="database is locked"), transaction.atomic():
            pytest.fail("it has begun")
        assert (free(), patience()) == (True, 20_000)
        other.execute("ROLLBACK")
        with transaction.atomic():
            factories.TeamFactory()

    def test_threads_that_write_all_the_time_lose_nothing(self) -> None:
        team = factories.TeamFactory()

        def add() -> None:
            for _ in range(25):
                with transaction.atomic():
                    seen = Team.objects.get(pk=team.pk).last_seq
                    Team.objects.filter(pk=team.pk).update(last_seq=seen + 1)
            connections.close_all()

        threads = [begun(add) for _ in range(6)]
        for thread in threads:
            thread.join(60)
        assert Team.objects.get(pk=team.pk).last_seq == 150
        assert free()
