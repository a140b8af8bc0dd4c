"""The connections of the pool to PostgreSQL: after a restart of the server all that are idle are replaced at once, and while
the server is away one is tried for each second, however long that lasts.

psycopg's pool finds broken connections out one by one, with a longer pause after each (0, 1, 2, 4, 8 s: psycopg_pool 3.3,
`_getconn_with_check_loop`). With eight of them a page waited for 20 s and then failed. Its pauses between two tries to connect
double as well, for five minutes (`_add_connection`, `AttemptWithBackoff`): a server that was away for a minute was asked again
a minute later, while all that wanted it waited.
"""

from typing import Any

import psycopg

from tasks_app.domain.leases import LEASE_S

GIVE_UP_S = 2.0
"""The pool's tries to connect come after 0, 1 and 2 s; then they begin anew (`try_again`) instead of growing rare."""
CONNECT_S = 5
"""A host that does not even refuse (switched off, behind a wall) holds a try for no longer; libpq's own limit is minutes."""
WAIT_S = 20.0
"""For so long a call waits for a connection: also the patience of many callers with few connections."""
PREPARE_AFTER = 3
"""A statement that a connection has executed so often is planned no more: ready tasks wait half as long (docs/performance.md)."""
CHECK = ""
"""What `ConnectionPool.check_connection` executes."""


class PooledConnection(psycopg.Connection[Any]):
    """A connection that, found broken by the check of its pool, has the pool make all of its idle ones anew."""

    def execute(self, query: Any, *args: Any, **options: Any) -> psycopg.Cursor[Any]:
        """Execute a query as any connection does."""
        try:
            return super().execute(query, *args, **options)
        except psycopg.OperationalError:
            pool: Any = getattr(self, "_pool", None)
            if query == CHECK and pool is not None:
                pool.drain()
            raise


def try_again(pool: Any) -> None:
    """Have a pool that gave up begin anew for those who wait; where nobody does, the next call begins."""
    with pool._lock:
        if pool._waiting:
            pool._maybe_grow_pool()


def pooled(options: dict[str, Any], *, most: int) -> dict[str, Any]:
    """Return the options of a database whose connections come from a pool of at most so many."""
    pool = {
        "min_size": 1,
        "max_size": most,
        "timeout": WAIT_S,
        "connection_class": PooledConnection,
        "reconnect_timeout": GIVE_UP_S,
        "reconnect_failed": try_again,
    }
    own = {"connect_timeout": CONNECT_S, "server_side_binding": True}
    prepared = {"prepare_threshold": _times(options.get("prepare_threshold", PREPARE_AFTER))}
    return {**own, **options, **prepared, "options": _settings(str(options.get("options", ""))), "pool": pool}


def _times(said: Any) -> int | None:
    """Return the threshold as psycopg takes it: DATABASE_URL gives words, of which `none` prepares no statement (PgBouncer)."""
    return int(said) if str(said).isdigit() else None


def _settings(given: str) -> str:
    """Return what the server is told at the start of a session; the lead's own word, in DATABASE_URL, counts.

    A process that stands still within a transaction (SIGSTOP, a host that is gone) holds its locks, and with them a whole team.
    After a lease the server takes them back: what had not been committed is undone.
    """
    name = "idle_in_transaction_session_timeout"
    return given if name in given else f"{given} -c {name}={LEASE_S * 1000:.0f}".strip()
