"""A backup tried out, in a scratch home: makes its database, imports teams from their files, exports them again and compares."""

import json
import tempfile
import zipfile
from collections.abc import Sequence
from typing import IO, Any

from tasks_app.domain import task_marks
from tasks_app.domain.errors import Invalid
from tasks_app.domain.team_file import MANIFEST, ROWS
from tasks_app.management import prepare
from tasks_app.services import bundles, team_export, team_import, team_tables

OWN = {"team": {"status", "archived_at", "workspace_mode", "last_seq", "cost_partial", "created_by", "access"}}
"""Columns that a team gets anew where it arrives."""
ANEW = {"payload_hash", "ask_key", "cost_due", "cost_partial"}


def run(paths: Sequence[str]) -> list[dict[str, Any]]:
    """Return how many rows each team has. Raises `DomainError` for the first thing that did not come back as it was."""
    prepare.everything()
    return [_one(path) for path in paths]


def _one(path: str) -> dict[str, Any]:
    with open(path, "rb") as file, tempfile.TemporaryFile() as again:
        team = team_import.load(file, user_id=None, actor="system", same=True)
        manifest = team_export.write(team.pk, again)
        for table in team_tables.ALL:
            _compare(table.name, file, again)
        lost = _commits(file) - bundles.commits(team.slug)
        if lost:
            raise Invalid(f"A snapshot of the workspace did not come back: {min(lost)}")
    return {"name": manifest.team, **{table.name: manifest.rows(table.name) for table in team_tables.ALL}}


def _compare(table: str, file: IO[bytes], again: IO[bytes]) -> None:
    name, away = ROWS.format(table), ANEW | OWN.get(table, set())
    with zipfile.ZipFile(file) as one, zipfile.ZipFile(again) as other, one.open(name) as old, other.open(name) as new:
        for number, line in enumerate(old, 1):
            before, after = json.loads(line), json.loads(new.readline() or b"{}")
            if table == "tasks":  # what is odd in it does not come back
                before["metadata"] = task_marks.believed(before["metadata"], reviews=before["review_of_id"] is not None)
            for column in sorted((before.keys() | after.keys()) - away):
                if before.get(column) != after.get(column):
                    raise Invalid(f"{name}: {column}, line {number}: it came back as another value.")
        more = len(new.readlines())
    if more != (table == "events"):
        raise Invalid(f"{name}: {more} rows came back that were not there.")


def _commits(file: IO[bytes]) -> set[str]:
    """The runs' snapshots and the one of the export itself."""
    with zipfile.ZipFile(file) as found:
        head = json.loads(found.read(MANIFEST))["head"]
        runs = [json.loads(line)["workspace_commit"] for line in found.read(ROWS.format("runs")).splitlines()]
    return {head, *runs} - {""} if head else set()
