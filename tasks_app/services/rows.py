"""Rows that every step of every agent reads and changes: their statements, written out.

Django composes an UPDATE or a SELECT anew at each call, which takes several times as long as SQLite takes to carry it out
(docs/performance.md). Here are the few of the hottest path; everything else asks the ORM. Values from outside are parameters;
the names in the statements are those of our own columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, models
from django.db.models.functions import Now

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import DecisionStatus
from tasks_app.models import CrewCall, Decision, Run, Task, Team


@dataclass(frozen=True)
class Changes:
    """What changes in a row: values that are put (or `Now()`), numbers that are added."""

    put: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, Any] = field(default_factory=dict)


READ: dict[type[models.Model], frozenset[str]] = {
    Run: frozenset(
        (
            *("id", "team_id", "task_id", "agent_id", "status", "fence", "last_seq", "cost_usd", "budget_usd", "budget_tokens"),
            *("input_tokens", "cache_creation_tokens", "cache_read_tokens", "output_tokens"),
            *("context_window", "context_first", "context_peak"),
        )
    ),
    Task: frozenset(("id", "used_usd", "used_tokens", "budget_usd", "budget_tokens")),
    Team: frozenset(("id", "rehearsal", "used_usd", "used_tokens", "budget_usd", "budget_tokens")),
}
"""The columns that recording a step needs."""


def locked(run_id: str) -> Run:
    """Return a run with `task` and `team`, the team's row locked until the commit; of each only the columns above.

    Raises `LeaseLost` where there is no such run.
    """
    with connection.cursor() as cursor:
        if connection.features.has_select_for_update:  # on SQLite the transaction itself is the lock
            cursor.execute(_locking(), [run_id])
        cursor.execute(_reading(), [run_id])
        row = cursor.fetchone()
    if row is None:
        raise LeaseLost(f"Run {run_id} does not exist any more.")
    values = iter(row)
    run: Run = _made(Run, values)
    run.task, run.team = _made(Task, values), _made(Team, values)
    return run


@cache
def _locking() -> str:
    run, team = _table(Run), _table(Team)
    return f"SELECT id FROM {team} WHERE id = (SELECT team_id FROM {run} WHERE id = %s) FOR UPDATE"  # noqa: S608 - our own names


@cache
def _reading() -> str:
    names = ", ".join(f"{_table(model)}.{name}" for model in READ for name in _columns(model))
    run, task, team = (_table(model) for model in READ)
    joined = f"{run} JOIN {task} ON {task}.id = {run}.task_id JOIN {team} ON {team}.id = {run}.team_id"
    return f"SELECT {names} FROM {joined} WHERE {run}.id = %s"  # noqa: S608 - our own names


def _table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


def _made(model: type[models.Model], values: Any) -> Any:
    names = _columns(model)
    return model.from_db(DEFAULT_DB_ALIAS, names, [_read(model, name, next(values)) for name in names])


@cache
def _columns(model: type[models.Model]) -> tuple[str, ...]:
    """What is read of a model, in the order of its columns: `from_db` takes values in that order alone."""
    return tuple(found.column for found in model._meta.concrete_fields if found.column in READ[model])


def _read(model: type[models.Model], name: str, value: Any) -> Any:
    """SQLite has no decimals and no booleans of its own."""
    column = _column(model, name)
    if value is None:
        return None
    if isinstance(column, models.DecimalField):
        return Decimal(str(value)).quantize(Decimal(1).scaleb(-column.decimal_places))
    return bool(value) if isinstance(column, models.BooleanField) else value


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
