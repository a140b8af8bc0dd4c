"""Statements that Django composes once: for questions that every tick and every claim asks anew, of another team each time.

Composing one takes several times as long as carrying it out (docs/performance.md). What is asked stays a query set of the ORM.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, TypeVar, cast

from django.db import connection, models
from django.db.models import QuerySet

M = TypeVar("M", bound=models.Model)
Key = int | Sequence[int] | Sequence[str]
Statement = tuple[str, tuple[Any, ...]]
"""SQL and its parameters."""
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
        self._made: dict[tuple[Any, ...], tuple[Statement, list[int | str]]] = {}  # with what stands for the keys in it

    def rows(self, *keys: Key) -> list[tuple[Any, ...]]:
        """Return what a query set of plain values (`values_list`) gives, as the database has it: a truth is 0 or 1 on SQLite."""
        with connection.cursor() as cursor:
            cursor.execute(*self._statement(keys))
            return list(cursor.fetchall())

    def found(self, model: type[M], *keys: Key) -> list[M]:
        """Return the rows of a model that a query set of them finds."""
        statement, given = self._statement(keys)
        return list(model._default_manager.raw(statement, given))

    def _statement(self, keys: Sequence[Key]) -> Statement:
        keys = [_filled(key) for key in keys]
        shape = (connection.vendor, *(None if isinstance(key, int) else (len(key), *{type(one) for one in key}) for key in keys))
        (statement, given), stand_ins = self._made.get(shape) or self._compose(shape, keys)
        meant = dict(zip(stand_ins, _flat(keys), strict=True))
        return statement, tuple(meant.get(one, one) if isinstance(one, int | str) else one for one in given)

    def _compose(self, shape: tuple[Any, ...], keys: Sequence[Key]) -> tuple[Statement, list[int | str]]:
        stand_ins = _stand_ins(keys)
        flat = list(_flat(stand_ins))
        statement, given = self._make(*stand_ins).query.sql_with_params()
        if missing := set(flat) - {one for one in given if isinstance(one, int | str)}:
            raise ValueError(f"The statement does not ask for {len(missing)} of its keys.")
        if len(self._made) >= MOST:
            self._made.clear()
        self._made[shape] = found = (statement, given), flat
        return found


def _filled(key: Key) -> Key:
    if isinstance(key, int) or not key:
        return key
    return cast(Key, [*key, *[key[-1]] * ((1 << (len(key) - 1).bit_length()) - len(key))])


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
