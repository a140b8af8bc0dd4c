"""The tables of a team's file: which rows belong to a team, and how a row is written as JSON and read again.

Everything is derived from the models, so a new column is carried without a word here. Rows of tables with a numbered key are
named by their place in the file (from 0), all others by their id.
"""

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import cached_property
from typing import Any

from django.db import models

from tasks_app import models as tables
from tasks_app.domain import statuses
from tasks_app.domain.events import EventKind
from tasks_app.domain.text import clean, clean_json
from tasks_app.task_types import registry as types

Field = Any  # a concrete field: `models.Field[Any, Any]`, which Django itself cannot evaluate
INTEGERS: Mapping[str, int] = {"SmallIntegerField": 2**15, "IntegerField": 2**31, "BigIntegerField": 2**63}


@dataclass(frozen=True)
class Table:
    """One kind of row. `of` leads to its team; `late` are references that are set when every row is there."""

    name: str
    model: type[models.Model]
    of: str
    late: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # columns that mean something on one installation only; a new row has their default
    loose: Mapping[str, str] = None  # type: ignore[assignment]  # columns that name a row of a table, "" none

    @cached_property
    def numbered(self) -> bool:
        """Whether its rows are named by their place in the file."""
        return bool(self.model._meta.pk.get_internal_type() == "BigAutoField")

    @cached_property
    def columns(self) -> dict[str, Field]:
        """The columns that a row in the file has, by name."""
        fields = {f.attname: f for f in self.model._meta.concrete_fields}
        away = {*self.left_out, "team_id", *(("id",) if self.numbered else ())}
        return {name: field for name, field in fields.items() if name not in away}

    @cached_property
    def refs(self) -> dict[str, str]:
        """The columns that refer to a row of another table, with that table's name."""
        found = {n: f.related_model for n, f in self.columns.items() if isinstance(f, models.ForeignKey)}
        return {name: next(t.name for t in TABLES if t.model is model) for name, model in found.items()}

    @property
    def order(self) -> tuple[str, ...]:
        """How its rows are ordered in the file."""
        if self.numbered:
            return ("pk",)
        return {"runs": ("created_at", "pk"), "messages": ("created_at", "pk"), "decisions": ("opened_at", "pk")}.get(
            self.name, ("at", "pk")
        )


LIFE = ("worker", "host", "pid", "lease_until", "nudged_at")
"""What a run has only while a worker of this installation holds it."""
TEAM = Table("team", tables.Team, "", left_out=("id", "slug", "name", "workspace", "source_path", "created_by_id"))
TABLES: tuple[Table, ...] = (
    Table("agents", tables.Agent, "team"),
    Table("tasks", tables.Task, "team", late=("review_of_id",)),
    Table("dependencies", tables.Dependency, "task__team"),
    Table("task_rules", tables.TaskRule, "task__team"),
    Table("runs", tables.Run, "team", late=("waits_for_id",), left_out=LIFE),
    Table("steps", tables.Step, "run__team"),
    Table("usages", tables.MessageUsage, "team"),
    Table("calls", tables.CrewCall, "run__team"),
    Table("costs", tables.CostReading, "run__team"),
    Table("decisions", tables.Decision, "team"),
    Table("messages", tables.Message, "team", late=("reply_to_id",), loose={"delivered_run": "runs"}),
    Table("context_names", tables.ContextName, "team"),
    Table("context_blobs", tables.ContextBlob, "team"),
    Table("context_entries", tables.ContextEntry, "team"),
    Table("context_versions", tables.ContextVersion, "entry__team"),
    Table("context_reads", tables.ContextRead, "entry__team", loose={"run_id": "runs"}),
    Table("checkpoints", tables.Checkpoint, "team", loose={"run_id": "runs"}),
    Table("checkpoint_blobs", tables.CheckpointBlob, "checkpoint__team"),
    Table("events", tables.Event, "team", left_out=("keys",), loose={"run_id": "runs", "decision_id": "decisions"}),
)
"""In the order in which they are written: what is referred to comes first."""
TRANSCRIPTS = Table("transcripts", tables.TranscriptEntry, "", left_out=("project_key",))
ALL: tuple[Table, ...] = (TEAM, *TABLES, TRANSCRIPTS)
BY_NAME: Mapping[str, Table] = {table.name: table for table in ALL}
NOT_OF_A_TEAM: tuple[type[models.Model], ...] = (tables.ServerDay, tables.Worker, tables.Backup, tables.KeyedRequest)
"""They belong to the installation."""
OTHERWISE: tuple[type[models.Model], ...] = (tables.TeamAccess, tables.ContextChunk)
"""In the file in another form: who may see the team by name alone, and the bytes of a blob as a member of their own."""


class _Waiting(StrEnum):
    """The states of a run in a file: in it nothing runs."""

    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"


WORDS: Mapping[tuple[str, str], frozenset[str]] = {
    ("team", "status"): frozenset(statuses.TeamStatus),
    ("team", "workspace_mode"): frozenset({"copy", "in_place", "git"}),
    ("agents", "status"): frozenset(statuses.AgentStatus),
    ("tasks", "status"): frozenset(statuses.TaskStatus),
    ("tasks", "type"): frozenset(types.TYPES),
    ("tasks", "start_from"): frozenset({"clean", "last"}),
    ("runs", "status"): frozenset(_Waiting),
    ("runs", "reason"): frozenset({"", *statuses.Reason}),
    ("steps", "kind"): frozenset(statuses.StepKind),
    ("decisions", "kind"): frozenset(statuses.DecisionKind),
    ("decisions", "status"): frozenset(statuses.DecisionStatus),
    ("context_entries", "scope"): frozenset(statuses.Scope),
    ("events", "kind"): frozenset(EventKind),
}


def pack(field: Field, value: Any) -> Any:
    """Return a value as plain JSON."""
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def unpack(table: Table, name: str, value: Any) -> Any:
    """Return a value as its column wants it. Raises `ValueError` with what is wrong, for people."""
    field = table.columns[name]
    if value is None:
        if not field.null:
            raise ValueError("It has no value, and needs one.")
        return None
    if isinstance(field, models.JSONField):
        return clean_json(value)
    read = READERS[field.get_internal_type()]
    found = read(field, value)
    words = WORDS.get((table.name, name))
    if words is not None and found not in words:
        raise ValueError(f"“{str(found)[:40]}” is none of the words that it may be.")
    return found


def missing(field: Field) -> Any:
    """Return what a column has that an older file does not know. Raises `ValueError` where it must be given."""
    if field.has_default():
        return field.get_default()
    if field.null:
        return None
    if getattr(field, "blank", False) and isinstance(field, models.CharField | models.TextField):
        return ""
    raise ValueError("It is missing.")


def _text(field: Field, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("It is no text.")
    most = getattr(field, "max_length", None)
    if most is not None and len(value) > most:
        raise ValueError(f"It has {len(value):,} characters; at most {most:,} are taken.")
    return clean(value)


def _integer(field: Field, value: Any) -> int:
    most = INTEGERS[field.get_internal_type()]
    if not isinstance(value, int) or isinstance(value, bool) or not -most <= value < most:
        raise ValueError("It is no whole number of the size that it may have.")
    return value


def _number(field: Field, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError("It is no number.")
    return float(value)


def _flag(field: Field, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("It is neither true nor false.")
    return value


def _moment(field: Field, value: Any) -> dt.datetime:
    try:
        found = dt.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError("It is no date and time.") from None
    if found.tzinfo is None:
        raise ValueError("It names no time zone.")
    return found


def _decimal(field: Field, value: Any) -> Decimal:
    try:
        found = Decimal(value) if isinstance(value, str) and re.fullmatch(r"-?[\d.]{1,30}", value) else None
    except InvalidOperation:
        found = None
    if found is None or abs(round(found, field.decimal_places)) >= 10 ** (field.max_digits - field.decimal_places):
        raise ValueError("It is no amount.")
    return found


READERS: Mapping[str, Callable[[Field, Any], Any]] = {
    "CharField": _text,
    "SlugField": _text,
    "TextField": _text,
    "SmallIntegerField": _integer,
    "IntegerField": _integer,
    "BigIntegerField": _integer,
    "FloatField": _number,
    "BooleanField": _flag,
    "DateTimeField": _moment,
    "DecimalField": _decimal,
}


def line(row: Mapping[str, Any]) -> bytes:
    """Return a row as one line: ASCII, so that no text of an agent can break it."""
    return json.dumps(row, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"
