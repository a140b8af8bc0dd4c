"""Shared context of a team: named values, written by compare-and-set, with schema, history, readers and time to live."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models.functions import Now

from tasks_app.domain import json_schema, shared
from tasks_app.domain.errors import Conflict, Forbidden, Invalid, NotFound, TooLarge
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import task_label
from tasks_app.domain.statuses import Scope
from tasks_app.models import ContextEntry, ContextName, ContextRead, ContextVersion, Task
from tasks_app.selectors import context as reading
from tasks_app.services import blobs, clock, events, keys

SWEEP: Final = 100
"""Expired entries that one sweep removes."""
ANY: Final = -1
"""As `version`: whatever is there is written over. For people who have been asked, and for restoring."""


@dataclass(frozen=True)
class Writer:
    """Who writes: an actor; for an agent with the task it works on and the tasks it may see entries of."""

    actor: str
    task_number: int | None = None
    sees: Collection[int] | None = None  # None: all of them
    run_id: str = ""
    author: str = ""  # whose version it counts as, where that is somebody else: a checkpoint's


@transaction.atomic
def share(
    team_id: int,
    *,
    name: str,
    value: Any,
    by: Writer,
    version: int | None = None,
    ttl_s: float | None = None,
    scope: Scope | None = None,
    task_number: int | None = None,
    schema: Any = None,
) -> ContextEntry:
    """Write an entry and return it.

    `version` is the one that was read (0: it must be new). Without one, only a new name or the writer's own last version is
    written over. Raises `Conflict` where another writer was in between, `Invalid` with paths where the value breaks the schema
    of its name, `Forbidden` for a name of a task that the writer may not see, `TooLarge`.
    """
    name, ttl_s, stored = shared.name(name), shared.ttl_s(ttl_s), shared.value(value)
    events.lock(team_id)
    now = clock.now()
    _remove_expired(team_id, name)
    current = ContextEntry.objects.filter(team_id=team_id, name=name).first()
    _may_write(name, current, by, version)
    registered = _registered(team_id, name, schema, by)
    _must_fit(name, stored.plain, registered.schema)
    places = _place(team_id, current, by, scope, task_number)
    fresh = {**_content(team_id, stored), **places, "author": (by.author or by.actor)[:80], "updated_at": now}
    fresh["expires_at"] = now + timedelta(seconds=ttl_s) if ttl_s else None
    registered.last_version += 1
    registered.save()
    fresh["version"] = registered.last_version
    entry = _create(team_id, name, by, fresh) if current is None else _change(current, fresh)
    _tell(team_id, EventKind.CONTEXT_SHARED, by, {"name": name, "version": entry.version})
    return entry


def _may_write(name: str, current: ContextEntry | None, by: Writer, version: int | None) -> None:
    if current is None:
        if version and version != ANY:
            raise Conflict(f"“{name}” does not exist; write it with version 0.", field="version")
        return
    hidden = by.sees is not None and current.scope == Scope.TASK.value and current.task_number not in by.sees
    if hidden:
        raise Forbidden(f"“{name}” belongs to {task_label(current.task_number or 0)}. Choose another name.", field="name")
    if version == ANY or (version is None and current.author == by.actor[:80]) or version == current.version:
        return
    stated = f", not {version}" if version is not None else ""
    who = current.author.partition(":")[2] or current.author
    raise Conflict(f"“{name}” is at version {current.version} by {who}{stated}. Read it, then write again.", field="version")


def _registered(team_id: int, name: str, schema: Any, by: Writer) -> ContextName:
    """The name's own row; a schema that comes with a value is registered where the name has none. Never saved here."""
    found = ContextName.objects.filter(team_id=team_id, name=name).first()
    if found is None:
        found = ContextName(team_id=team_id, name=name)
    if schema is None:
        return found
    wanted = checked_schema(schema)
    if found.schema is not None and found.schema != wanted:
        raise Conflict(f"“{name}” has a schema already. Only the lead changes it; leave yours out.", field="schema")
    if found.schema is None:
        found.schema, found.schema_by = wanted, by.actor[:80]
    return found


def checked_schema(schema: Any) -> dict[str, Any]:
    """Return a schema as it is stored. Raises `Invalid` with every problem's path."""
    wanted: dict[str, Any] = json_schema.plain(schema)
    if flaws := json_schema.flaws_of(wanted):
        raise _unfit("The schema cannot be registered", flaws, root="schema")
    return wanted


def _must_fit(name: str, value: Any, schema: Mapping[str, Any] | None) -> None:
    if schema is not None and (flaws := json_schema.flaws_in(value, schema)):
        raise _unfit(f"The value does not fit the schema of “{name}”", flaws, root="value")


def _unfit(what: str, flaws: Sequence[json_schema.Flaw], *, root: str) -> Invalid:
    """One flaw is said in the message, several are listed; each has its path."""
    problems = json_schema.problems(flaws, root=root)
    if len(problems) == 1:
        return Invalid(f"{what}: {problems[0]}", field=problems[0].path)
    return Invalid(f"{what}.", field=root, problems=problems)


def _place(
    team_id: int, current: ContextEntry | None, by: Writer, scope: Scope | None, task_number: int | None
) -> dict[str, Any]:
    """The scope and the task it comes from: as it was, unless something else is asked for."""
    number = task_number or (current.task_number if current else None) or by.task_number
    chosen = scope or (Scope(current.scope) if current else Scope.TEAM)
    if chosen is Scope.TASK and number is None:
        raise Invalid("Name the task that the entry belongs to, such as T-3.", field="task")
    if task_number and not Task.objects.filter(team_id=team_id, number=task_number).exists():
        raise NotFound(f"There is no task {task_label(task_number)} in this team.", field="task")
    return {"scope": chosen.value, "task_number": number}


def _content(team_id: int, stored: shared.Value) -> dict[str, Any]:
    data = stored.data
    if len(data) <= shared.INLINE:
        return {"value": stored.plain, "blob": None, "preview": "", "size": len(data)}
    return {"value": None, "blob": blobs.keep(team_id, data), "preview": stored.preview, "size": len(data)}


def _create(team_id: int, name: str, by: Writer, fresh: Mapping[str, Any]) -> ContextEntry:
    if ContextEntry.objects.filter(team_id=team_id).count() >= shared.MAX_ENTRIES:
        raise TooLarge(f"The team shares {shared.MAX_ENTRIES:,} entries already. Write to one of them.", field="name")
    return ContextEntry.objects.create(team_id=team_id, name=name, owner=by.actor[:80], **fresh)


def _change(current: ContextEntry, fresh: Mapping[str, Any]) -> ContextEntry:
    """Keep what was there as an earlier version, and drop the oldest of too many, with who had read it."""
    kept = {name: getattr(current, name) for name in ("value", "blob_id", "preview", "size", "version", "author", "updated_at")}
    ContextVersion.objects.create(entry=current, **kept)
    ContextEntry.objects.filter(pk=current.pk).update(**fresh)
    newest = ContextVersion.objects.filter(entry=current).order_by("-version").values_list("version", flat=True)
    too_old = list(newest[shared.HISTORY : shared.HISTORY + 1])
    if too_old:
        old = ContextVersion.objects.filter(entry=current, version__lte=too_old[0])
        unused = list(old.values_list("blob_id", flat=True))
        old.delete()
        ContextRead.objects.filter(entry=current, version__lte=too_old[0]).delete()
        blobs.drop_unused(unused)
    return ContextEntry.objects.get(pk=current.pk)


@transaction.atomic
def delete(team_id: int, *, name: str, version: int | None = None, by: Writer) -> None:
    """Remove an entry with its history; with `version` only where it is still at that one. Raises `Conflict`, `NotFound`."""
    events.lock(team_id)
    entry = reading.alive(team_id).filter(name=name).first()
    if entry is None:
        raise NotFound(f"Nothing of the name “{name[:60]}” is shared.", field="name")
    if version is not None and entry.version != version:
        raise Conflict(f"“{name}” is at version {entry.version} now, not {version}. Look at it again.", field="version")
    _remove(entry)
    _tell(team_id, EventKind.CONTEXT_DELETED, by, {"name": name, "version": entry.version})


def _remove(entry: ContextEntry) -> None:
    unused = [entry.blob_id, *entry.versions.values_list("blob_id", flat=True)]
    entry.delete()
    blobs.drop_unused(unused)


def _remove_expired(team_id: int, name: str) -> None:
    for entry in ContextEntry.objects.filter(team_id=team_id, name=name, expires_at__lte=Now()):
        _remove(entry)


@transaction.atomic
def set_schema(team_id: int, *, name: str, schema: Any, by: Writer) -> None:
    """Register the schema of a name, or remove it (None). Raises `Invalid` where what is shared now does not fit it."""
    name = shared.name(name)
    wanted = None if schema is None else checked_schema(schema)
    events.lock(team_id)
    entry = reading.alive(team_id).filter(name=name).first()
    if entry is not None and wanted is not None:
        _must_fit(name, reading.value(entry.pk), wanted)
    who = by.actor[:80] if wanted is not None else ""
    ContextName.objects.update_or_create(team_id=team_id, name=name, defaults={"schema": wanted, "schema_by": who})
    _tell(team_id, EventKind.CONTEXT_SCHEMA, by, {"name": name, "set": wanted is not None})


@transaction.atomic
def note_reads(team_id: int, entries: Sequence[reading.Entry], *, reader: str, run_id: str, how: str, agent_id: int) -> None:
    """Remember that an attempt was given these versions, in its prompt or by the tool."""
    if not entries:
        return
    events.lock(team_id)
    still = set(ContextEntry.objects.filter(pk__in=[one.pk for one in entries]).values_list("pk", flat=True))
    now = clock.now()
    ContextRead.objects.bulk_create(
        [
            ContextRead(entry_id=one.pk, version=one.version, reader=reader[:80], run_id=run_id, how=how, at=now)
            for one in entries
            if one.pk in still
        ],
        update_conflicts=True,
        unique_fields=["entry", "run_id", "version", "how"],
        update_fields=["at"],
    )
    events.append(
        team_id,
        EventKind.CONTEXT_READ,
        actor=f"agent:{reader}",
        keys=(keys.context(team_id),),
        run_id=run_id,
        agent_id=agent_id,
        data={"names": [one.name for one in entries[:20]], "how": how},
    )


def expire_due() -> int:
    """Remove what has expired from the store; nobody was shown it any more. Returns how many."""
    due = ContextEntry.objects.filter(expires_at__lte=Now()).order_by("expires_at").values_list("pk", "team_id")
    return sum(_expire(pk, team_id) for pk, team_id in list(due[:SWEEP]))


@transaction.atomic
def _expire(pk: int, team_id: int) -> bool:
    events.lock(team_id)
    entry = ContextEntry.objects.filter(pk=pk, expires_at__lte=Now()).first()
    if entry is None:
        return False
    _remove(entry)
    _tell(team_id, EventKind.CONTEXT_EXPIRED, Writer(events.SYSTEM), {"name": entry.name, "version": entry.version})
    return True


def _tell(team_id: int, kind: EventKind, by: Writer, data: Mapping[str, Any]) -> None:
    events.append(
        team_id, kind, actor=by.actor, keys=(keys.context(team_id),), task_number=by.task_number, run_id=by.run_id, data=data
    )
