"""The blocks of what a team shares: the list of entries, and one entry with its value, history and readers."""

import json
from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.domain.shared import INLINE
from tasks_app.selectors import context, teams
from tasks_app.selectors.context import Entry, Version
from tasks_app.services import keys

COMPARED = 200_000
"""Characters of a version up to which two are compared on the page."""


class ContextList:
    """Every entry of a team that has not expired, newest first."""

    name = "context-list"
    template = "panels/context_list.html"

    def block(self, team_pk: int) -> Block:
        """Return the list of one team."""
        return Block(f"{self.name}-{team_pk}", self.name, (team_pk,), frozenset({keys.context(team_pk)}), team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the entries, and the names that have a schema."""
        team_pk = int(block.args[0])
        slug = teams.slug_of(team_pk)
        if slug is None:
            return None
        return {"slug": slug, "entries": context.of_team(team_pk), "schemas": context.schemas(team_pk)}


class ContextEntry:
    """One entry; its arguments are the two versions that are compared (0: the newest, and the one before)."""

    name = "context-entry"
    template = "panels/context_entry.html"

    def block(self, pk: int, old: int, new: int, team_pk: int) -> Block:
        """Return one entry of a team."""
        return Block(f"{self.name}-{pk}", self.name, (pk, old, new), frozenset({keys.context(team_pk)}), team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the entry; without one the block says that it is gone, for another page may still lead to it."""
        pk, old, new = (int(value) for value in block.args)
        entry = context.one(pk)
        slug = teams.slug_of(block.team or 0)
        if entry is None or entry.team_id != block.team:
            return {"slug": slug, "entry": None}
        versions = context.versions(pk)
        return {
            "slug": slug,
            "entry": entry,
            "value": None if entry.large else json.loads(entry.start),
            "inline": INLINE,
            "schema": context.schema(entry.team_id, entry.name),
            "versions": versions,
            "reads": context.reads(pk),
            "difference": _difference(entry, versions, old, new),
        }


def _difference(entry: Entry, versions: list[Version], old: int, new: int) -> dict[str, Any] | None:
    """The two versions that are compared, with their values; without values where they are too large."""
    kept = {one.number: one for one in versions}
    after = kept.get(new) or versions[0]
    before = kept.get(old) or next((one for one in versions if one.number < after.number), None)
    if before is None:
        return None
    found: dict[str, Any] = {"old": before.number, "new": after.number, "too_large": max(before.size, after.size) > COMPARED}
    if not found["too_large"]:
        found |= {name: context.value(entry.pk, one.number) for name, one in (("before", before), ("after", after))}
    return found
