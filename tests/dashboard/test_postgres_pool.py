"""After a restart of PostgreSQL no page waits for the pool to find its broken connections out one by one."""

from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from dashboard.settings.postgres import PooledConnection


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
