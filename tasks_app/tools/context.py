"""Crew tools on what the team shares: named values and checkpoints."""

from typing import Any, Literal

from pydantic import Field

from tasks_app.domain.errors import Invalid
from tasks_app.domain.shared import PREVIEW, READ_AT_ONCE, dumps
from tasks_app.domain.statuses import Scope
from tasks_app.domain.text import cut
from tasks_app.selectors import context as reading
from tasks_app.services import checkpoints, context
from tasks_app.services.context import Writer
from tasks_app.tools.base import Arguments, Caller, CrewTool


class Share(Arguments):
    """A named value for the team."""

    name: str = Field(description="For example api.base_url")
    value: Any
    version: int | None = Field(
        default=None, description="The version you read; 0 for a new name. Another writer in between is refused"
    )
    scope: Literal["team", "task"] | None = Field(
        default=None, description="Who is told: the whole team (default), or only your task and those that depend on it"
    )
    ttl_s: float | None = Field(default=None, description="Seconds until it vanishes; empty: it stays")
    json_schema: dict[str, Any] | None = Field(
        default=None, alias="schema", description="A JSON Schema (2020-12) that every later value of this name must fit"
    )


class Read(Arguments):
    """One entry, those whose names begin alike, or all."""

    name: str | None = None
    prefix: str | None = Field(default=None, description="Such as `api.`: every entry whose name begins so")
    offset: int = Field(default=0, ge=0, description="With name: from which character of a long value on")


class Save(Arguments):
    """A checkpoint."""

    name: str


def writer(caller: Caller) -> Writer:
    """Return the caller as who writes: it may see entries of its task and of what that depends on."""
    sees = reading.sees(caller.team_id, caller.task_number)
    return Writer(caller.actor, task_number=caller.task_number, sees=sees, run_id=caller.run_id)


def _share(caller: Caller, args: Share) -> str:
    entry = context.share(
        caller.team_id,
        name=args.name,
        value=args.value,
        by=writer(caller),
        version=args.version,
        ttl_s=args.ttl_s,
        scope=Scope(args.scope) if args.scope else None,
        schema=args.json_schema,
    )
    return f"Shared “{entry.name}”, version {entry.version}."


def export(caller: Caller, values: dict[str, Any]) -> str:
    """Share what a task yields with the tasks that depend on it."""
    by = writer(caller)
    for name, value in values.items():
        context.share(caller.team_id, name=name, value=value, by=by, scope=Scope.TASK)
    return f"Shared with the tasks after yours: {', '.join(values)}."


def _read(caller: Caller, args: Read) -> str:
    if args.name and args.prefix:
        raise Invalid("Give either name or prefix.", field="prefix")
    if args.name:
        sees = reading.sees(caller.team_id, caller.task_number)
        found = reading.named(caller.team_id, args.name.strip(), sees=sees)
        entries = [found] if found else []
    else:
        entries = [one for one in reading.of_task(caller.team_id, caller.task_number) if one.name.startswith(args.prefix or "")]
    if not entries:
        return "There is nothing of that name." if args.name or args.prefix else "Nothing is shared yet."
    shown, left = ([_part(entries[0], args.offset)], []) if args.name else _short(entries)
    context.note_reads(
        caller.team_id,
        entries[: len(shown)],
        reader=caller.agent,
        run_id=caller.run_id,
        agent_id=caller.agent_id,
        how="tool",
    )
    more = f"\nNot shown: {', '.join(left)}. Read them by name." if left else ""
    return f"[\n{','.join(shown)}\n]{more}"


def _part(entry: reading.Entry, offset: int) -> str:
    """One entry whole, or the part of a long one that one call can return."""
    text = (reading.text(entry.pk) or "null") if entry.large else entry.start
    if len(text) <= READ_AT_ONCE and not offset:
        return _line(entry, text)
    part = text[offset : offset + READ_AT_ONCE]
    end = offset + len(part)
    note = f"characters {offset:,} to {end:,} of {len(text):,}" + (f"; go on with offset {end}" if end < len(text) else "")
    return _line(entry, dumps(part), note)


def _short(entries: list[reading.Entry]) -> tuple[list[str], list[str]]:
    """Each entry with a long value shortened, as many as fit; and the names of the rest."""
    shown: list[str] = []
    size = 0
    for at, entry in enumerate(entries):
        if entry.large or len(entry.start) > PREVIEW:
            note = f'shortened, {entry.size:,} bytes in all; read it whole with name "{entry.name}"'
            line = _line(entry, dumps(cut(entry.start, PREVIEW)), note)
        else:
            line = _line(entry, entry.start)
        size += len(line)
        if size > READ_AT_ONCE:
            return shown, [one.name for one in entries[at : at + 50]]
        shown.append(line)
    return shown, []


def _line(entry: reading.Entry, value: str, note: str = "") -> str:
    owner = entry.author.partition(":")[2] or entry.author
    facts = dumps({"name": entry.name, "version": entry.version, "owner": owner, **({"part": note} if note else {})})
    return f'{facts[:-1]}, "value": {value}}}'


def _save(caller: Caller, args: Save) -> str:
    saved = checkpoints.keep(caller.team_id, name=args.name, by=caller.actor, run_id=caller.run_id, workspace=caller.frozen)
    return f"Saved checkpoint {saved.pk} “{saved.name}”."


TOOLS = (
    CrewTool(
        "ShareContext",
        "Share a named value with your team, or only with the tasks that depend on yours; they are told it in their prompt.",
        Share,
        _share,
        # only a write against a stated version would be refused as somebody else's the second time
        once=lambda args: [args.name, args.value, args.version] if args.version is not None else None,
    ),
    CrewTool(
        "ReadContext",
        "Read what the team shares: one entry by name, those of a prefix, or all.",
        Read,
        _read,
        harmless=True,
    ),
    CrewTool(
        "SaveCheckpoint",
        "Save a named checkpoint of the team's state: tasks, shared values, sessions and files. The lead can go back to it.",
        Save,
        _save,
        freezes=True,
        once=lambda args: args.name,
    ),
)
