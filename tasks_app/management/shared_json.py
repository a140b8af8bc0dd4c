"""Shared entries as plain JSON: what `manage.py context --json` and the API print."""

import json
from typing import Any

from tasks_app.domain.errors import NotFound
from tasks_app.selectors import context
from tasks_app.selectors.context import Entry


def entry(one: Entry) -> dict[str, Any]:
    """Return an entry; a large one with the beginning of its JSON as `start` in place of its value."""
    return {
        "name": one.name,
        "version": one.version,
        "author": one.author,
        "owner": one.owner,
        "scope": one.scope.value,
        "task": one.task or None,
        "bytes": one.size,
        "updated_at": one.updated_at.isoformat(),
        "expires_at": one.expires_at.isoformat() if one.expires_at else None,
        **({"start": one.start} if one.large else {"value": json.loads(one.start)}),
    }


def whole(one: Entry, *, version: int | None = None) -> dict[str, Any]:
    """Return an entry whole, or an earlier version of it. Raises `NotFound` for a version that is not kept."""
    text = context.text(one.pk, version)
    if text is None:
        kept = ", ".join(str(found.number) for found in context.versions(one.pk))
        raise NotFound(f"Version {version} of “{one.name}” is not kept. There are: {kept}.", field="version")
    facts = entry(one)
    facts.pop("start", None)
    return {
        **facts,
        "version": version or one.version,
        "value": json.loads(text),
        "schema": context.schema(one.team_id, one.name),
        "versions": [
            {"version": v.number, "author": v.author, "at": v.at.isoformat(), "bytes": v.size} for v in context.versions(one.pk)
        ],
        "reads": [
            {
                "reader": r.reader,
                "run": r.run_id,
                "task": r.task or None,
                "version": r.version,
                "how": r.how,
                "at": r.at.isoformat(),
            }
            for r in context.reads(one.pk)
        ],
    }
