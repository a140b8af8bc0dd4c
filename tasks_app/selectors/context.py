"""What a team shares: the entries that have not expired, who may see which, their history and their readers."""

import datetime as dt
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from tasks_app.domain.ids import task_label
from tasks_app.domain.shared import dumps
from tasks_app.domain.statuses import Scope
from tasks_app.models import ContextChunk, ContextEntry, ContextName, ContextRead, ContextVersion, Dependency, Run, Task

MOST_READS = 200


@dataclass(frozen=True)
class Entry:
    """A shared value without the value itself; `start` is its JSON, or how it begins where it is `large`."""

    pk: int
    team_id: int
    name: str
    version: int
    author: str
    owner: str
    scope: Scope
    task: str  # T-3, or nothing
    size: int  # bytes
    large: bool
    start: str
    updated_at: dt.datetime
    expires_at: dt.datetime | None

    @property
    def seen_by(self) -> str:
        """`the team`, or `T-3 and what depends on it`."""
        return f"{self.task} and what depends on it" if self.scope is Scope.TASK else "the team"


@dataclass(frozen=True)
class Version:
    """One version of an entry."""

    number: int
    author: str
    at: dt.datetime
    size: int


@dataclass(frozen=True)
class Reading:
    """Who was given which version, how (`prompt` or `tool`), and when the last time."""

    reader: str
    run_id: str
    version: int
    how: str
    at: dt.datetime
    agent_pk: int | None
    task_pk: int | None
    task: str


def alive(team_id: int) -> QuerySet[ContextEntry]:
    """The entries that have not expired, by the database's clock: the moment one has, nobody sees it any more."""
    return ContextEntry.objects.filter(Q(expires_at=None) | Q(expires_at__gt=Now()), team_id=team_id)


def of_team(team_id: int, *, sees: Collection[int] | None = None) -> list[Entry]:
    """Return the entries, newest first; with `sees` (task numbers) those that may be seen from there. One query."""
    rows = alive(team_id) if sees is None else alive(team_id).filter(seen_from(sees))
    return [_entry(row) for row in rows.order_by("-updated_at", "-pk")]


def of_task(team_id: int, task_number: int) -> list[Entry]:
    """Return the entries that whoever works on the task may see, newest first.

    All dependencies of the team are read for that only where something is not for everybody. What is shared between the two
    questions is for a later reader, where it is not for everybody.
    """
    some = alive(team_id).filter(scope=Scope.TASK.value).exists()
    return of_team(team_id, sees=sees(team_id, task_number) if some else (task_number,))


def seen_from(sees: Collection[int]) -> Q:
    """What may be seen by whoever may see these tasks."""
    return Q(scope=Scope.TEAM.value) | Q(task_number__in=list(sees))


def sees(team_id: int, task_number: int) -> frozenset[int]:
    """Return the numbers of a task and of all it depends on, directly or not; two queries."""
    own = Task.objects.filter(team_id=team_id, number=task_number).values_list("pk", "number")
    edges: dict[int, list[tuple[int, int]]] = {}
    rows = Dependency.objects.filter(task__team_id=team_id).values_list("task_id", "needs_id", "needs__number")
    for task_id, needs_id, number in rows:
        edges.setdefault(task_id, []).append((needs_id, number))
    found: dict[int, int] = {}
    left = list(own)
    while left:
        pk, number = left.pop()
        if pk not in found:
            found[pk] = number
            left += edges.get(pk, [])
    return frozenset(found.values())


def one(pk: int) -> Entry | None:
    """Return an entry, or None when it is gone or has expired."""
    row = ContextEntry.objects.filter(Q(expires_at=None) | Q(expires_at__gt=Now()), pk=pk).first()
    return _entry(row) if row else None


def named(team_id: int, name: str, *, sees: Collection[int] | None = None) -> Entry | None:
    """Return the entry of that name, where there is one that may be seen."""
    rows = alive(team_id) if sees is None else alive(team_id).filter(seen_from(sees))
    row = rows.filter(name=name).first()
    return _entry(row) if row else None


def text(pk: int, version: int | None = None) -> str | None:
    """Return the whole JSON of an entry as it is now, or of an earlier version that is kept; None: it is gone."""
    row: ContextEntry | ContextVersion | None = ContextEntry.objects.filter(pk=pk).first()
    if row is not None and version not in (None, row.version):
        row = ContextVersion.objects.filter(entry_id=pk, version=version).first()
    return None if row is None else stored_text(row)


def value(pk: int, version: int | None = None) -> Any:
    """Return the whole value (see `text`)."""
    found = text(pk, version)
    return None if found is None else json.loads(found)


def stored_text(row: ContextEntry | ContextVersion) -> str:
    """Return the whole JSON of a row, from its blob where it has one."""
    if row.blob_id is None:
        return dumps(row.value)
    chunks = ContextChunk.objects.filter(blob_id=row.blob_id).order_by("position").values_list("data", flat=True)
    return b"".join(bytes(chunk) for chunk in chunks).decode()


def versions(pk: int) -> list[Version]:
    """Return the version of now and the earlier ones that are kept, newest first; two queries."""
    now = list(ContextEntry.objects.filter(pk=pk).values_list("version", "author", "updated_at", "size"))
    earlier = ContextVersion.objects.filter(entry_id=pk).values_list("version", "author", "updated_at", "size")
    return [Version(*row) for row in (*now, *earlier)]


def reads(pk: int) -> list[Reading]:
    """Return who was given the entry, the latest first; two queries."""
    rows = list(ContextRead.objects.filter(entry_id=pk).order_by("-at", "-pk")[:MOST_READS])
    found = Run.objects.filter(pk__in={row.run_id for row in rows}).values_list("pk", "agent_id", "task_id", "task__number")
    runs = {run_id: (agent_id, task_id, task_label(number)) for run_id, agent_id, task_id, number in found}
    return [Reading(r.reader, r.run_id, r.version, r.how, r.at, *runs.get(r.run_id, (None, None, ""))) for r in rows]


def schema(team_id: int, name: str) -> dict[str, Any] | None:
    """Return the JSON Schema that is registered for a name."""
    found: dict[str, Any] | None = ContextName.objects.filter(team_id=team_id, name=name).values_list("schema", flat=True).first()
    return found


def schemas(team_id: int) -> dict[str, dict[str, Any]]:
    """Return every registered schema by name."""
    rows = ContextName.objects.filter(team_id=team_id, schema__isnull=False).order_by("name")
    return {row.name: row.schema for row in rows if row.schema is not None}


def _entry(row: ContextEntry) -> Entry:
    return Entry(
        pk=row.pk,
        team_id=row.team_id,
        name=row.name,
        version=row.version,
        author=row.author,
        owner=row.owner,
        scope=Scope(row.scope),
        task=task_label(row.task_number) if row.task_number else "",
        size=row.size,
        large=row.blob_id is not None,
        start=row.preview if row.blob_id is not None else dumps(row.value),
        updated_at=row.updated_at,
        expires_at=row.expires_at,
    )
