"""Time as expressions. The database's clock: leases compare times of one clock only, whatever the hosts' clocks say."""

from typing import Any

from django.db.models import FloatField, Func


class DatabaseNow(Func):
    """Now in Unix seconds, as the database sees it, with a resolution of 1 ms or better."""

    template = "0"
    output_field = FloatField()
    arity = 0

    def as_sqlite(self, compiler: Any, connection: Any, **extra_context: Any) -> Any:
        """SQLite: Julian days."""
        return self.as_sql(compiler, connection, template="((julianday('now') - 2440587.5) * 86400.0)", **extra_context)

    def as_postgresql(self, compiler: Any, connection: Any, **extra_context: Any) -> Any:
        """PostgreSQL: `clock_timestamp`, for `now()` stands still within a transaction."""
        return self.as_sql(
            compiler, connection, template="extract(epoch from clock_timestamp())::double precision", **extra_context
        )


class Seconds(Func):
    """How many seconds lie between two moments, `Seconds(until, since)`, to the millisecond; null where one of them is.

    Django's own difference is a function of ours to SQLite: it reads both moments in Python, for every row.
    """

    arity = 2
    output_field = FloatField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra_context: Any) -> Any:
        """SQLite: Julian days."""
        template, joiner = "((julianday(%(expressions)s)) * 86400.0)", ") - julianday("
        return self.as_sql(compiler, connection, template=template, arg_joiner=joiner, **extra_context)

    def as_postgresql(self, compiler: Any, connection: Any, **extra_context: Any) -> Any:
        """PostgreSQL: an interval."""
        template = "extract(epoch from (%(expressions)s))::double precision"
        return self.as_sql(compiler, connection, template=template, arg_joiner=" - ", **extra_context)
