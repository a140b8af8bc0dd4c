"""The bridge to the database: patient with a restart, and no longer than the leases last."""

import asyncio
import threading
import time

import pytest
from django.db import InterfaceError, InternalError, OperationalError, connection, transaction

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.leases import LEASE_S
from tasks_app.execution import db
from tasks_app.services import events


def failing(times, error, then="answer"):
    left = [times]

    def call(*args, **words):
        if left[0]:
            left[0] -= 1
            raise error
        return then, args, words

    return call


@pytest.mark.django_db
@pytest.mark.parametrize("error", [OperationalError("locked"), InterfaceError("closed")])
def test_a_database_that_restarts_is_asked_again(error, monkeypatch):
    monkeypatch.setattr(db.connection, "close", lambda: None)
    assert db.patiently(failing(2, error), 1, a=2) == ("answer", (1,), {"a": 2})


@pytest.mark.django_db(transaction=True)
def test_what_stands_still_within_a_transaction_holds_nobody_up_where_a_server_can_end_it(crew):
    """SQLite has no server that could: there the other waits until it goes on or is ended (`management/supervise.STILL_S`)."""
    on_a_server = connection.vendor == "postgresql"
    times, order = [], []

    def frozen():
        with transaction.atomic():
            events.lock(crew.team.pk)
            times.append(time.monotonic())
            if on_a_server:
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 100")  # the pool lends it to others
            if len(times) == 1:
                after.start()
                after.join(None if on_a_server else 0.3)
            slug = events.lock(crew.team.pk).slug
            order.append("frozen")
            return slug

    def other():
        with transaction.atomic():
            events.lock(crew.team.pk)
            order.append("other")
        connection.close()

    after = threading.Thread(target=other)
    assert db.patiently(frozen) == crew.team.slug
    after.join()
    assert (order, len(times)) == ((["other", "frozen"], 2) if on_a_server else (["frozen", "other"], 1))
    connection.close()


@pytest.mark.django_db
def test_the_server_takes_the_locks_of_who_stands_still_after_a_lease():
    given = connection.settings_dict["OPTIONS"].get("options", "")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SHOW idle_in_transaction_session_timeout")
            given = cursor.fetchone()[0]
    assert given == (f"{LEASE_S:g}s" if connection.vendor == "postgresql" else "")


@pytest.mark.django_db
def test_an_internal_error_of_a_connection_that_lives_is_not_repeated():
    connection.ensure_connection()
    call = failing(1, InternalError("a fault"))
    with pytest.raises(InternalError):
        db.patiently(call)
    assert call()[0] == "answer", "it was called once"


@pytest.mark.django_db
def test_one_that_stays_away_fails_the_call(monkeypatch):
    monkeypatch.setattr(db.connection, "close", lambda: None)
    monkeypatch.setattr(db, "PATIENCE_S", 0.0)
    with pytest.raises(OperationalError, match="gone"):
        db.patiently(failing(9, OperationalError("gone")))


@pytest.mark.parametrize("error", [LeaseLost("lost"), ValueError("a fault")])
def test_what_is_no_fault_of_the_database_is_not_repeated(error):
    call = failing(1, error)
    with pytest.raises(type(error)):
        db.patiently(call)
    assert call()[0] == "answer", "it was called once"


@pytest.mark.usefixtures("database_threads")
def test_calls_run_beside_the_loop():
    async def both():
        return await asyncio.gather(db.call(failing(0, None)), db.call(failing(0, None)))

    assert [found[0] for found in asyncio.run(both())] == ["answer", "answer"]


@pytest.mark.django_db
def test_on_sqlite_what_all_runs_write_goes_one_after_another_and_keeps_no_thread_waiting():
    together = threading.Barrier(2)

    def meet():
        try:
            together.wait(0.2)
        except threading.BrokenBarrierError:
            return "alone"
        return "two at a time"

    async def both(way):
        return await asyncio.gather(way(meet), way(meet))

    assert set(asyncio.run(both(db.call))) == {"two at a time"}
    expected = "alone" if db.connection.vendor == "sqlite" else "two at a time"
    assert set(asyncio.run(both(db.in_line))) == {expected}
