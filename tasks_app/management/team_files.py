"""`manage.py team export` and `team import`: a team as one file, and back."""

import os
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks_app.domain.errors import Conflict, Invalid
from tasks_app.domain.team_file import Manifest
from tasks_app.management import prepare, sign_in
from tasks_app.management.cli import find_team
from tasks_app.management.words import COMMAND
from tasks_app.services import team_export, team_import


@dataclass(frozen=True)
class Said:
    """What came of it, for people and as JSON."""

    text: str
    facts: dict[str, Any]


def add_arguments(verbs: Any, add_json: Callable[[ArgumentParser], None]) -> None:
    """Add both verbs to the parser of `team`."""
    export = verbs.add_parser("export", help="write a team to one file, as it is at this moment")
    export.add_argument("team", help="address or name of the team")
    export.add_argument("file", type=Path, help="the file to write, such as atlas.zip")
    add_json(export)
    load = verbs.add_parser("import", help="make a team from such a file; it is paused until you resume it")
    load.add_argument("file", type=Path, help="the file")
    load.add_argument("--name", default="", help="another name for the team")
    add_json(load)


def to_file(given: Mapping[str, Any]) -> Said:
    """Write the file: under another name first, so that a file of this name is whole."""
    team, target = find_team(given["team"]), given["file"].expanduser()
    if target.exists():
        raise Conflict(f"{target} is there already. Name another file, or remove it.", field="file")
    manifest = write(team.pk, target)
    facts = {"team": team.slug, "file": str(target), "bytes": target.stat().st_size, **counts(manifest)}
    size = f"{facts['bytes'] / 2**20:.1f} MB"
    return Said(
        f"{team.name} is in {target} ({size}). It holds what its agents read and wrote: keep it as you keep the team.", facts
    )


def write(team_id: int, target: Path) -> Manifest:
    """Write a team's file, readable by its owner alone. Raises `Invalid` where the folder does not take it."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            manifest = team_export.write(team_id, out)
        part.replace(target)
    except OSError as error:
        raise Invalid(f"{target} cannot be written: {error.strerror or error}.", field="file") from None
    finally:
        part.unlink(missing_ok=True)
    return manifest


def counts(manifest: Manifest) -> dict[str, Any]:
    """Return how many tasks, agents, attempts and events a file has, and whether it has the workspace."""
    return {name: manifest.rows(name) for name in ("tasks", "agents", "runs", "events")} | {"workspace": bool(manifest.head)}


def from_file(given: Mapping[str, Any]) -> Said:
    """Make the team of a file."""
    prepare.everything()
    user = sign_in.ensure_lead()
    try:
        file = given["file"].expanduser().open("rb")
    except OSError as error:
        raise Invalid(f"{given['file']} cannot be read: {error.strerror}.", field="file") from None
    with file:
        team = team_import.load(file, name=given["name"], user_id=user.pk, actor=f"user:{user.username}")
    text = f"The team {team.slug} is here, paused. Look at it, then: {COMMAND} team resume {team.slug}\nFiles: {team.workspace}"
    return Said(text, {"team": team.slug, "name": team.name, "status": team.status, "workspace": team.workspace})


VERBS: Mapping[str, Callable[[Mapping[str, Any]], Said]] = {"export": to_file, "import": from_file}
