"""The database's clock: whatever decides compares times of one clock only, whatever the hosts' clocks say.

What is only shown may carry the time of the host that wrote it.
"""

import datetime as dt

from django.db import connection

from tasks_app.selectors.clock import DatabaseNow

__all__ = ["DatabaseNow", "now", "now_s"]


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


def now() -> dt.datetime:
    """Return the database's time, aware (one query)."""
    return dt.datetime.fromtimestamp(now_s(), dt.UTC)
