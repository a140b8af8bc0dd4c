"""Reading everything as of one moment, while others go on writing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, connection, transaction


@contextmanager
def one_moment() -> Iterator[None]:
    """What is read inside is as of one moment, and nobody who writes waits for it. Inside a transaction: as that one sees it."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        with _reading_only(), transaction.atomic():
            yield
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield


def end_with_moment(error: Exception) -> None:
    """Raise a failure of the database again within a moment: PostgreSQL carries out nothing more in it."""
    if isinstance(error, DatabaseError) and connection.in_atomic_block:
        raise error


@contextmanager
def _reading_only() -> Iterator[None]:
    """SQLite: our transactions begin by taking the one right to write (settings); one that reads must not keep it for long."""
    connection.ensure_connection()
    sqlite: Any = connection
    before, sqlite.transaction_mode = sqlite.transaction_mode, "DEFERRED"
    try:
        yield
    finally:
        sqlite.transaction_mode = before
