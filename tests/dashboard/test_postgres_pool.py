"""After a restart of PostgreSQL no page waits for the pool to find its broken connections out one by one."""

import threading
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from dashboard.settings.postgres import PooledConnection, pooled, try_again


class Pool:
    """Counts how often it was asked to make its idle connections anew."""

    drained = 0

    def drain(self) -> None:
        self.drained += 1


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> PooledConnection:
    def gone(*_: Any, **__: Any) -> None:
        raise psycopg.OperationalError("terminating connection due to administrator command")

    monkeypatch.setattr(psycopg.Connection, "execute", gone)
    monkeypatch.setattr(psycopg.Connection, "__del__", lambda _: None)
    connection = object.__new__(PooledConnection)
    connection._pool = Pool()  # type: ignore[assignment]
    return connection


def test_one_that_the_check_finds_broken_has_all_idle_ones_replaced(broken: PooledConnection) -> None:
    with pytest.raises(psycopg.OperationalError):
        broken.execute("")
    assert broken._pool.drained == 1  # type: ignore[union-attr]


def test_a_query_of_the_application_that_fails_replaces_nothing(broken: PooledConnection) -> None:
    with pytest.raises(psycopg.OperationalError):
        broken.execute("SELECT 1")
    assert broken._pool.drained == 0  # type: ignore[union-attr]


def test_the_pools_check_is_the_query_that_is_looked_for(broken: PooledConnection) -> None:
    broken.pgconn = type("Idle", (), {"status": 0})()
    broken._autocommit = True
    with pytest.raises(psycopg.OperationalError):
        ConnectionPool.check_connection(broken)
    assert broken._pool.drained == 1  # type: ignore[union-attr]


class Starved:
    """A pool that gave up, with or without somebody who waits."""

    def __init__(self, *waiting: str) -> None:
        self._lock, self._waiting, self.grown = threading.Lock(), waiting, 0

    def _maybe_grow_pool(self) -> None:
        self.grown += 1


def test_a_pool_that_gave_up_begins_anew_for_those_who_wait_and_rests_where_nobody_does() -> None:
    wanted, idle = Starved("a page"), Starved()
    try_again(wanted)
    try_again(idle)
    assert (wanted.grown, idle.grown) == (1, 0)


def test_tries_to_connect_never_grow_rare_and_a_silent_host_holds_none_for_long() -> None:
    options = pooled({"sslmode": "require"}, most=8)
    pool = ConnectionPool(open=False, kwargs={}, **options.pop("pool"))
    assert (pool.reconnect_timeout, pool._reconnect_failed, pool.max_size) == (2.0, try_again, 8)
    still = "-c idle_in_transaction_session_timeout=15000"
    prepares = {"server_side_binding": True, "prepare_threshold": 3}
    assert options == {"connect_timeout": 5, "sslmode": "require", "options": still, **prepares}
    found = [pooled({"prepare_threshold": said}, most=1)["prepare_threshold"] for said in ("none", "9", 5)]
    assert found == [None, 9, 5], "a pooler between us and the server may know no prepared statements"
    assert pooled({"options": "-c work_mem=8MB"}, most=1)["options"] == f"-c work_mem=8MB {still}"
    theirs = "-c idle_in_transaction_session_timeout=0"
    assert pooled({"options": theirs}, most=1)["options"] == theirs, "the lead's own word counts"
    assert pooled({"connect_timeout": 9}, most=1)["connect_timeout"] == 9, "the lead's own word counts"
