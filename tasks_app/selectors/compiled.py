"""Statements that Django composes once: for questions that every tick and every claim asks anew, of another team each time.

Composing one takes several times as long as carrying it out (docs/performance.md). What is asked stays a query set of the ORM.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar, cast

from django.core.exceptions import EmptyResultSet
from django.db import connection, models
from django.db.models import QuerySet

M = TypeVar("M", bound=models.Model)
Key = int | Collection[int] | Collection[str]
Statement = tuple[str, tuple[Any, ...]]
"""SQL and its parameters."""


@dataclass(frozen=True)
class _Composed:
    """A statement, what stands for the keys in it, and the expressions of its columns. Nothing of it belongs to a connection."""

    statement: Statement
    stand_ins: list[int | str]
    columns: list[Any]


KEY = -8_070_450_532_247_928_832
"""The first of the numbers that stand for keys while a statement is composed: no row has one of them."""
MOST = 200
"""Statements that are kept of one question; beyond that they are composed again."""
WORD = "\ue000key"
"""What the words begin with that stand for keys."""


class Compiled:
    """A query set that differs from call to call in its keys alone: whole numbers, lists of such or of words.

    `make` is called once, with what stands for the keys: a moment that it reads from a clock would stay as it is for ever, so it
    must ask the database's (`DatabaseNow`). A list is filled up by its last one to a length of 1, 2, 4, 8, …, for each of which
    `make` is called once: it must mean the same then, as it does to `in`. Raises ValueError where a key is not asked for.
    """

    def __init__(self, make: Callable[..., QuerySet[Any, Any]]) -> None:
        self._make = make
        self._made: dict[tuple[Any, ...], _Composed | None] = {}  # None: nothing can match, whatever the keys are

    def rows(self, *keys: Key) -> list[tuple[Any, ...]]:
        """Return what a query set of plain values (`values_list`) gives, as the database has it: a truth is 0 or 1 on SQLite."""
        return self._read(keys)[0]

    def values(self, *keys: Key) -> list[tuple[Any, ...]]:
        """Return what a query set of plain values (`values_list`) gives, as Python has it: moments, truths, decimals."""
        return _converted(*self._read(keys))

    def found(self, model: type[M], *keys: Key) -> list[M]:
        """Return the rows of a model that a query set of them finds; what it adds to them is as the database has it."""
        composed, given = self._statement(keys)
        return list(model._default_manager.raw(composed.statement[0], given)) if composed else []

    def _read(self, keys: Sequence[Key]) -> tuple[list[tuple[Any, ...]], Sequence[Any]]:
        """Rows as the database has them, and the expressions of their columns."""
        composed, given = self._statement(keys)
        if composed is None:
            return [], ()
        with connection.cursor() as cursor:
            cursor.execute(composed.statement[0], given)
            return list(cursor.fetchall()), composed.columns

    def _statement(self, keys: Sequence[Key]) -> tuple[_Composed | None, tuple[Any, ...]]:
        keys = [_filled(key) for key in keys]
        shape = (connection.vendor, *(None if isinstance(key, int) else (len(key), *{type(one) for one in key}) for key in keys))
        if shape in (made := self._made):
            composed = made[shape]
        else:
            composed = self._compose(keys)
            # another one, not emptied: other threads may be about to read it
            self._made = {**(made if len(made) < MOST else {}), shape: composed}
        if composed is None:
            return None, ()
        meant = dict(zip(composed.stand_ins, _flat(keys), strict=True))
        return composed, tuple(meant.get(one, one) if isinstance(one, int | str) else one for one in composed.statement[1])

    def _compose(self, keys: Sequence[Key]) -> _Composed | None:
        stand_ins = _stand_ins(keys)
        flat = list(_flat(stand_ins))
        compiler = self._make(*stand_ins).query.get_compiler(connection=connection)
        try:
            statement, given = compiler.as_sql()
        except EmptyResultSet:
            return None
        if missing := set(flat) - {one for one in given if isinstance(one, int | str)}:
            raise ValueError(f"The statement does not ask for {len(missing)} of its keys.")
        columns = [column for column, *_ in (compiler.select or ())[: compiler.col_count]]
        return _Composed((statement, given), flat, columns)


def _converted(rows: list[tuple[Any, ...]], columns: Sequence[Any]) -> list[tuple[Any, ...]]:
    """As Django's own compiler does it, with the connection of the thread that reads."""
    found = [list(row) for row in rows]
    for place, column in enumerate(columns):
        for convert in (*connection.ops.get_db_converters(column), *column.get_db_converters(connection)):
            for row in found:
                row[place] = convert(row[place], column, connection)
    return [tuple(row) for row in found]


def _filled(key: Key) -> Key:
    if isinstance(key, int) or not key:
        return key
    given = list(key)
    return cast(Key, [*given, *[given[-1]] * ((1 << (len(given) - 1).bit_length()) - len(given))])


def _stand_ins(keys: Sequence[Key]) -> list[Key]:
    """What stands for the keys: each number and each word another one."""
    numbers = count(KEY)
    found: list[Key] = []
    for key in keys:
        if isinstance(key, int):
            found.append(next(numbers))
        else:
            found.append(cast(Key, [f"{WORD}{next(numbers)}" if isinstance(one, str) else next(numbers) for one in key]))
    return found


def _flat(keys: Sequence[Key]) -> Iterator[int | str]:
    for key in keys:
        if isinstance(key, int):
            yield key
        else:
            yield from key
