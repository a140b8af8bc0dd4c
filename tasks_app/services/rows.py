"""Rows that every step of every agent reads and changes: their statements, written out.

Django composes an UPDATE or a SELECT anew at each call, which takes several times as long as SQLite takes to carry it out
(docs/performance.md). Here are the few of the hottest path; everything else asks the ORM. Values from outside are parameters;
the names in the statements are those of our own columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, models
from django.db.models.functions import Now

from tasks_app.domain.statuses import DecisionStatus
from tasks_app.models import Agent, CrewCall, Decision, Run, Task, Team
from tasks_app.models.teams import LARGE


@dataclass(frozen=True)
class Changes:
    """What changes in a row: values that are put (or `Now()`), numbers that are added."""

    put: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, Any] = field(default_factory=dict)


MOST = 1_000
"""Rows of one statement: SQLite takes 32,766 values."""
ALL: frozenset[str] = frozenset()
Shape = tuple[tuple[type[models.Model], frozenset[str]], ...]
"""Of each model the columns that are read (`ALL`: each but the largest). The first is asked for by its key and has the others."""
STEP: Shape = (
    (
        Run,
        frozenset(
            (
                *("id", "team_id", "task_id", "agent_id", "status", "fence", "last_seq"),
                *("cost_usd", "budget_usd", "budget_tokens"),
                *("input_tokens", "cache_creation_tokens", "cache_read_tokens", "output_tokens"),
                *("context_window", "context_first", "context_peak"),
            )
        ),
    ),
    (Task, frozenset(("id", "used_usd", "used_tokens", "budget_usd", "budget_tokens"))),
    (Team, frozenset(("id", "rehearsal", "used_usd", "used_tokens", "budget_usd", "budget_tokens"))),
)
"""The columns that recording a step needs."""
WHOLE: Shape = ((Run, ALL), (Task, ALL), (Team, ALL), (Agent, ALL))
TEAM: Shape = ((Team, ALL),)
ASKED: Shape = ((Decision, ALL), (Team, ALL), (Task, ALL), (Run, ALL), (Agent, ALL))


def lock_team_of(run_id: str) -> None:
    """Lock the row of a run's team until the commit; nothing where there is none."""
    if connection.features.has_select_for_update:  # on SQLite the transaction itself is the lock
        with connection.cursor() as cursor:
            cursor.execute(_locking(), [run_id])


def recorded(run_id: str) -> Run | None:
    """Return a run with `task` and `team`, of each only the columns above, or None. The caller has locked the team."""
    found: Run | None = _one(STEP, run_id)
    return found


def run(run_id: str) -> Run | None:
    """Return a run with `team`, `task` and `agent`, without the team's plan and script; None where there is none."""
    found: Run | None = _one(WHOLE, run_id)
    return found


def team_locked(team_id: int) -> Team | None:
    """Return a team with its row locked until the commit, without its plan and script; None where there is none."""
    found: Team | None = _one(TEAM, team_id, " FOR UPDATE" if connection.features.has_select_for_update else "")
    return found


def decision(decision_id: str) -> Decision | None:
    """Return a decision with `team`, without the team's plan and script, `task`, `run` and `agent`; None where there is none."""
    found: Decision | None = _one(ASKED, decision_id)
    return found


@cache
def _locking() -> str:
    run, team = _table(Run), _table(Team)
    return f"SELECT id FROM {team} WHERE id = (SELECT team_id FROM {run} WHERE id = %s) FOR UPDATE"  # noqa: S608 - our own names


def _one(shape: Shape, pk: Any, lock: str = "") -> Any:
    """Read one row of the first model, with those of the others that it points at; None in place of one that is missing."""
    with connection.cursor() as cursor:
        cursor.execute(_reading(shape) + lock, [pk])
        row = cursor.fetchone()
    if row is None:
        return None
    values = iter(row)
    made = [_made(model, columns, values) for model, columns in shape]
    for (model, _), other in zip(shape[1:], made[1:], strict=True):
        setattr(made[0], model._meta.model_name or "", other)
    return made[0]


@cache
def _reading(shape: Shape) -> str:
    names = ", ".join(f"{_table(model)}.{column.column}" for model, columns in shape for column in _columns(model, columns))
    first = _table(shape[0][0])
    joined = (f"LEFT JOIN {_table(model)} ON {_table(model)}.id = {first}.{model._meta.model_name}_id" for model, _ in shape[1:])
    return f"SELECT {names} FROM {first} {' '.join(joined)} WHERE {first}.id = %s"  # noqa: S608 - our own names


def _table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


def _made(model: type[models.Model], columns: frozenset[str], values: Any) -> Any:
    found = _columns(model, columns)
    given = [next(values) for _ in found]
    if given[0] is None:  # its key: there is no such row
        return None
    read = [_read(column, value) for column, value in zip(found, given, strict=True)]
    return model.from_db(DEFAULT_DB_ALIAS, [column.attname for column in found], read)


@cache
def _columns(model: type[models.Model], columns: frozenset[str]) -> tuple[Any, ...]:
    """What is read of a model, in the order of its columns: `from_db` takes values in that order alone."""
    large = LARGE if model is Team else ()
    fields = model._meta.concrete_fields
    return tuple(found for found in fields if (found.column in columns if columns else found.name not in large))


def _read(column: Any, value: Any) -> Any:
    """Turn what the database gave into what Python has, as Django does: SQLite has no moments, decimals and booleans."""
    for convert in _converters(column):
        value = convert(value, column.cached_col, connection)
    return value


@cache
def _converters(column: Any) -> tuple[Any, ...]:
    expression = column.cached_col
    return (*connection.ops.get_db_converters(expression), *expression.get_db_converters(connection))


@cache
def _column(model: type[models.Model], name: str) -> Any:
    return next(found for found in model._meta.concrete_fields if found.column == name)


@cache
def _now() -> str:
    """The database's own clock, as Django writes it."""
    compiler = Run.objects.all().query.get_compiler(connection=connection)
    return str(compiler.compile(Now())[0])


def change(model: type[models.Model], where: Mapping[str, Any], changes: Changes, *, returning: str = "") -> Any:
    """Change the rows whose columns are as `where` says, by one statement, and return their number.

    With `returning`: that column of the one row, None where none matches.
    """
    parts, given = [], []
    for name, value in changes.put.items():
        parts.append(f"{name} = {_now() if isinstance(value, Now) else '%s'}")
        given += [] if isinstance(value, Now) else [_column(model, name).get_db_prep_save(value, connection)]
    for name, value in changes.add.items():
        parts.append(f"{name} = {name} + {'CAST(%s AS NUMERIC)' if isinstance(value, Decimal) else '%s'}")
        given.append(str(value) if isinstance(value, Decimal) else value)
    matching = " AND ".join(f"{name} = %s" for name in where)
    statement = f"UPDATE {_table(model)} SET {', '.join(parts)} WHERE {matching}"  # noqa: S608 - our own names
    with connection.cursor() as cursor:
        cursor.execute(statement + (f" RETURNING {returning}" if returning else ""), [*given, *where.values()])
        if not returning:
            return cursor.rowcount
        row = cursor.fetchone()
    return row[0] if row else None


def add(made: Sequence[models.Model], *, known: str = "") -> None:
    """Insert rows of one model, which get their ids from the database; by one statement for each `MOST` of them.

    `known`: what becomes of a row that is there already, in SQL.
    """
    for first in range(0, len(made), MOST):
        _add(made[first : first + MOST], known)


def _add(made: Sequence[models.Model], known: str) -> None:
    fields = [found for found in made[0]._meta.concrete_fields if found is not made[0]._meta.auto_field]
    moments = [isinstance(getattr(made[0], found.attname), Now) for found in fields]
    places = "({})".format(", ".join(_now() if moment else "%s" for moment in moments))
    names = ", ".join(str(found.column) for found in fields)
    given = [
        found.get_db_prep_save(getattr(row, found.attname), connection)
        for row in made
        for found, moment in zip(fields, moments, strict=True)
        if not moment
    ]
    many = ", ".join([places] * len(made))
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {_table(type(made[0]))} ({names}) VALUES {many} {known}", given)  # noqa: S608 - our own names


def read(model: type[models.Model], columns: Sequence[str], where: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return these columns, as the database has them, of each row whose columns are as `where` says; a list: one of these."""
    parts, given = [], []
    for name, value in where.items():
        many = value if isinstance(value, list) else [value]
        parts.append(f"{name} IN ({', '.join(['%s'] * len(many))})")
        given += many
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(columns)} FROM {_table(model)} WHERE {' AND '.join(parts)}", given)  # noqa: S608
        return list(cursor.fetchall())


def owes(run_id: str) -> bool:
    """Whether the run's transcript is yet to hold an answer of the lead, or what came of a call of a crew tool."""
    with connection.cursor() as cursor:
        cursor.execute(_owing(), [run_id, DecisionStatus.OPEN.value, run_id])
        return bool(cursor.fetchone()[0])


@cache
def _owing() -> str:
    decisions = f"SELECT 1 FROM {_table(Decision)} WHERE run_id = %s AND consumed_at IS NULL AND status <> %s"  # noqa: S608
    calls = f"SELECT 1 FROM {_table(CrewCall)} WHERE run_id = %s AND NOT told"  # noqa: S608 - our own names, as above
    return f"SELECT EXISTS ({decisions}) OR EXISTS ({calls})"
