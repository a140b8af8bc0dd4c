"""Statements that Django composes once: for questions that every tick and every claim asks anew, of another team each time.

Composing one takes several times as long as carrying it out (docs/performance.md). What is asked stays a query set of the ORM.
"""

from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import QuerySet

KEY = -8_070_450_532_247_928_832
"""Stands for the key while a statement is composed: no row has it."""


class Compiled:
    """A query set of plain values (`values_list`) that differs from call to call in one whole-number key alone.

    `make` is called once, with a number that stands for the key: a moment that it reads from a clock would stay as it is for
    ever, so it must ask the database's (`DatabaseNow`). Values come as the database gives them: a truth is 0 or 1 on SQLite.
    Raises ValueError where the key is not asked for.
    """

    def __init__(self, make: Callable[[int], QuerySet[Any, Any]]) -> None:
        self._make = make
        self._made: dict[str, tuple[str, tuple[Any, ...]]] = {}

    def rows(self, key: int) -> list[tuple[Any, ...]]:
        """Return what the query set gives for this key."""
        statement, given = self._made.get(connection.vendor) or self._compose()
        with connection.cursor() as cursor:
            cursor.execute(statement, [key if one == KEY else one for one in given])
            return list(cursor.fetchall())

    def _compose(self) -> tuple[str, tuple[Any, ...]]:
        statement, given = self._make(KEY).query.sql_with_params()
        if not any(one == KEY for one in given):
            raise ValueError("The statement does not ask for the key.")
        self._made[connection.vendor] = statement, given
        return statement, given
