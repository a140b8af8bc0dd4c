"""The connections of the pool to PostgreSQL: after a restart of the server all that are idle are replaced at once.

psycopg's pool finds broken connections out one by one, with a longer pause after each (0, 1, 2, 4, 8 s: psycopg_pool 3.3,
`_getconn_with_check_loop`). With eight of them a page waited for 20 s and then failed.
"""

from typing import Any

import psycopg

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
