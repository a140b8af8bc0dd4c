"""Shared context of a team: named values, written by compare-and-set, with owner and time to live."""

import json
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone

from tasks_app.domain.errors import Conflict, Invalid, TooLarge
from tasks_app.domain.events import EventKind
from tasks_app.domain.text import clean_json, mask_json
from tasks_app.models import ContextEntry
from tasks_app.services import events, keys

LIMIT = 262_144
"""Largest value in characters of JSON."""


@transaction.atomic
def share(
    team_id: int,
    *,
    name: str,
    value: Any,
    owner: str,
    version: int | None = None,
    ttl_s: float | None = None,
    task_number: int | None = None,
) -> ContextEntry:
    """Write an entry. `version` is the one that was read (0: it must be new); another writer in between is a `Conflict`."""
    name = name.strip()
    if not 0 < len(name) <= 120:
        raise Invalid("The name must have 1 to 120 characters.", field="name")
    if ttl_s is not None and not 0 < ttl_s <= 366 * 86400:
        raise Invalid("The time to live must be above 0 and at most a year, in seconds.", field="ttl_s")
    stored = mask_json(clean_json(value))
    if len(json.dumps(stored, ensure_ascii=False)) > LIMIT:
        raise TooLarge(f"The value is larger than {LIMIT:,} characters. Put it in a file and share its path.", field="value")
    events.lock(team_id)
    now = timezone.now()
    ContextEntry.objects.filter(team_id=team_id, name=name, expires_at__lte=now).delete()
    fresh = {
        "value": stored,
        "owner": owner[:80],
        "updated_at": now,
        "task_number": task_number,
        "expires_at": now + timedelta(seconds=ttl_s) if ttl_s else None,
    }
    entry = _write(team_id, name, version, fresh)
    events.append(
        team_id,
        EventKind.CONTEXT_SHARED,
        actor=f"agent:{owner}",
        keys=(keys.team(team_id),),
        data={"name": name, "version": entry.version},
    )
    return entry


def _write(team_id: int, name: str, version: int | None, fresh: dict[str, Any]) -> ContextEntry:
    known = ContextEntry.objects.filter(team_id=team_id, name=name)
    current = known.first()
    if current is None:
        if version:
            raise Conflict(f"“{name}” does not exist; write it with version 0.", field="version")
        try:
            with transaction.atomic():
                return ContextEntry.objects.create(team_id=team_id, name=name, **fresh)
        except IntegrityError:
            raise Conflict(f"“{name}” was written by another agent at the same moment. Read it, then write again.") from None
    if version is not None and not known.filter(version=version).update(version=F("version") + 1, **fresh):
        raise Conflict(
            f"“{name}” is at version {current.version} by {current.owner}, not {version}. Read it, then write again.",
            field="version",
        )
    if version is None:
        known.update(version=F("version") + 1, **fresh)
    return known.get()


def read(team_id: int, *, name: str | None = None) -> list[ContextEntry]:
    """Return the entries that have not expired, all or the one of that name."""
    live = ContextEntry.objects.filter(team_id=team_id).filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
    return list(live.filter(name=name) if name else live)
