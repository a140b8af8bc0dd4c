"""Crew tools on what the team shares: named values and checkpoints."""

import json
from typing import Any

from pydantic import Field

from tasks_app.services import checkpoints, context
from tasks_app.tools.base import Arguments, Caller, CrewTool


class Share(Arguments):
    """A named value for the team."""

    name: str = Field(description="For example api.base_url")
    value: Any
    version: int | None = Field(
        default=None, description="The version you read; 0 for a new name. Another writer in between is refused"
    )
    ttl_s: float | None = Field(default=None, description="Seconds until it vanishes; empty: it stays")


class Read(Arguments):
    """One entry or all."""

    name: str | None = None


class Save(Arguments):
    """A checkpoint."""

    name: str


def _share(caller: Caller, args: Share) -> str:
    entry = context.share(
        caller.team_id,
        name=args.name,
        value=args.value,
        owner=caller.agent,
        version=args.version,
        ttl_s=args.ttl_s,
        task_number=caller.task_number,
    )
    return f"Shared “{entry.name}”, version {entry.version}."


def _read(caller: Caller, args: Read) -> str:
    entries = context.read(caller.team_id, name=args.name)
    if not entries:
        return "There is nothing of that name." if args.name else "Nothing is shared yet."
    shown = [{"name": e.name, "version": e.version, "owner": e.owner, "value": e.value} for e in entries]
    return json.dumps(shown, ensure_ascii=False, indent=1)


def _save(caller: Caller, args: Save) -> str:
    saved = checkpoints.save(caller.team_id, name=args.name, by=caller.actor, run_id=caller.run_id)
    return f"Saved checkpoint {saved.pk} “{saved.name}”."


TOOLS = (
    CrewTool("ShareContext", "Share a named value with the team.", Share, _share),
    CrewTool("ReadContext", "Read what the team shares.", Read, _read, writes=False),
    CrewTool("SaveCheckpoint", "Save a named checkpoint of the team's state.", Save, _save),
)
