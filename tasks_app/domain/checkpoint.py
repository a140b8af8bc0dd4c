"""What a checkpoint holds, and how it is sealed and read back: damaged, foreign, older and newer ones are refused whole.

Every value that is not ours (evidence, shared values) is kept as JSON text, so that what is hashed comes back the same from every
database.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks_app.domain.errors import Invalid
from tasks_app.domain.statuses import RunStatus, Scope, TaskStatus

SCHEMA: Final = 2
"""Schema 1 held states without what is needed to bring them back: it is shown, and cannot be restored."""
HASH: Final = "hash"
"""The key beside the content: sha256 of its canonical JSON."""
TRAVELS: Final = "travels"
"""Stands for the hash of an intact checkpoint in the file of a team: ids and folders are named anew on the way."""


class Part(BaseModel):
    """A part of a checkpoint: nothing unknown is taken."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class TeamMark(Part):
    """Which team it is of: the moment of its making tells apart two that had the same address."""

    slug: str
    created_at: str


class TaskState(Part):
    """Where a task stood. `worker`: the agent of its open attempt; `evidence`: JSON text; times as ISO 8601."""

    number: int
    title: str
    status: TaskStatus
    attempts: int
    attempts_allowed: int
    failed: bool
    held: bool
    assignee: str
    worker: str
    guidance: str
    output: str
    evidence: str
    completed_by: str
    completed_while_blocked_by: str
    started_at: str | None
    completed_at: str | None
    review_of: int | None


class EntryState(Part):
    """A shared entry. `digest`: sha256 of its JSON; `json_text` is that JSON, None where it lies in the team's store of blobs."""

    name: str
    version: int
    digest: str
    size: int
    json_text: str | None
    scope: Scope
    task_number: int | None
    owner: str
    author: str
    expires_at: str | None


class Position(Part):
    """A place in a session: after so many lines of its main transcript, the last of which has this uuid. No id: no session."""

    session_id: str
    lines: int
    last: str


class AgentState(Part):
    """Where an agent stood: in its open attempt's session, else in the one that its next task goes on in."""

    name: str
    position: Position
    handover: str
    context_tokens: int | None
    context_window: int | None


class RunState(Part):
    """An attempt that was open."""

    id: str
    task: int
    agent: str
    attempt: int
    status: RunStatus
    workspace_commit: str


class Content(Part):
    """All of a checkpoint. `workspace`: the snapshot of the files, empty where there could be none."""

    format: int = Field(default=SCHEMA, alias="schema")
    team: TeamMark
    last_seq: int
    workspace: str
    tasks: list[TaskState]
    context: list[EntryState]
    agents: list[AgentState]
    runs: list[RunState]


def sealed(content: Content) -> dict[str, Any]:
    """Return the content as it is stored: plain JSON with its hash."""
    plain = content.model_dump(mode="json", by_alias=True)
    return {**plain, HASH: _hash(plain)}


def digest(json_text: str) -> str:
    """Return the sha256 of a value's JSON: what names it here and in the store of blobs."""
    return sha256(json_text.encode()).hexdigest()


def read(data: Any, *, team: TeamMark) -> Content:
    """Return what a stored checkpoint holds. Raises `Invalid` with the reason in words; then nothing of it may be used."""
    if problem := unusable(data):
        _refuse(problem)
    plain = {name: value for name, value in data.items() if name != HASH}
    if not intact(data):
        _refuse("This checkpoint is damaged: what it holds is not what was saved.")
    try:
        content = Content.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        _refuse(f"This checkpoint is damaged: {where}: {first['msg']}.")
    if content.team != team:
        _refuse(f"This checkpoint is of another team, “{content.team.slug}”.")
    return content


def intact(data: Any) -> bool:
    """Whether a stored checkpoint of this schema is what was saved."""
    return not unusable(data) and data.get(HASH) == _hash({name: value for name, value in data.items() if name != HASH})


def arriving(data: Any, *, team: TeamMark) -> Any:
    """Return a checkpoint from a file as it is stored for that team; what was damaged before it left stays so."""
    if unusable(data) or data.get(HASH) != TRAVELS:
        return data
    plain = {name: value for name, value in data.items() if name != HASH}
    entries = [_named_anew(one) for one in plain.get("context") or ()]
    plain |= {"team": team.model_dump(mode="json"), "context": entries}
    return {**plain, HASH: _hash(plain)}


def _named_anew(entry: Any) -> Any:
    """A shared value that names ids or the workspace has other ones now, and so another digest."""
    text = entry.get("json_text") if isinstance(entry, dict) else None
    return {**entry, "digest": digest(text)} if isinstance(text, str) else entry


def unusable(data: Any) -> str:
    """Return why the schema of this cannot be read, or nothing."""
    found = data.get("schema") if isinstance(data, Mapping) else None
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        return "This checkpoint is damaged: it does not say what it is."
    if found < SCHEMA:
        return f"This checkpoint was saved by an older version of Crewdesk (schema {found}), which kept too little to go back."
    if found > SCHEMA:
        return f"This checkpoint was saved by a newer version of Crewdesk (schema {found}; this reads {SCHEMA}). Update first."
    return ""


def _refuse(words: str) -> NoReturn:
    raise Invalid(f"{words} Nothing was changed.", field="checkpoint")


def _hash(plain: Mapping[str, Any]) -> str:
    return sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
