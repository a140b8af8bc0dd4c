"""The database's clock, in Unix seconds: leases compare times of one clock only, whatever the hosts' clocks say."""

from typing import Any

from django.db import connection
from django.db.models import FloatField, Func


class DatabaseNow(Func):
    """Now, as the database sees it, with a resolution of 1 ms or better."""

    template = "0"
    output_field = FloatField()
    arity = 0

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """SQLite: Julian days."""
        return self.as_sql(compiler, connection, template="((julianday('now') - 2440587.5) * 86400.0)", **extra)

    def as_postgresql(self, compiler: Any, conn: Any, **extra: Any) -> Any:
        """PostgreSQL: `clock_timestamp`, for `now()` stands still within a transaction."""
        return self.as_sql(compiler, conn, template="extract(epoch from clock_timestamp())::double precision", **extra)


def now_s() -> float:
    """Return the database's time in Unix seconds (one query)."""
    sql = (
        "SELECT extract(epoch from clock_timestamp())::double precision"
        if connection.vendor == "postgresql"
        else "SELECT (julianday('now') - 2440587.5) * 86400.0"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return float(cursor.fetchone()[0])
