"""A team written to one file, as of one moment, while it goes on working; row by row, so that memory does not grow with it."""

import hashlib
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.db.models import QuerySet

from tasks_app.domain import checkpoint, renaming
from tasks_app.domain.errors import NotFound
from tasks_app.domain.leases import NEVER
from tasks_app.domain.statuses import DecisionStatus, Reason, RunStatus
from tasks_app.domain.team_file import BLOB, FORMAT, MANIFEST, ROWS, VERSION, Manifest, Member
from tasks_app.models import Agent, Checkpoint, ContextBlob, ContextChunk, Decision, Run, Team, TeamAccess, TranscriptEntry
from tasks_app.services import bundles, clock, own_repository
from tasks_app.services.moments import one_moment
from tasks_app.services.team_tables import TABLES, TEAM, TRANSCRIPTS, Table, line, pack

CHUNK = 500
"""Rows that are in memory at once."""
BLOCK = 2**20
Row = dict[str, Any]
Places = dict[str, dict[Any, Any]]
"""By table: the key of a row → what it is called in the file."""


def write(team_id: int, out: IO[bytes]) -> Manifest:
    """Write the team's file and return its manifest. Raises `NotFound`. Nothing of it is a secret of this installation."""
    members: dict[str, Member] = {}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as file:
        with one_moment():
            team = Team.objects.filter(pk=team_id).first()
            if team is None:
                raise NotFound("There is no such team.", field="team")
            _write_rows(file, team, members)
        with tempfile.TemporaryDirectory(prefix="crewdesk-export-") as folder:
            head, made = bundles.keep(team.slug, team.workspace, Path(folder))
            for name in made:
                with (Path(folder) / Path(name).name).open("rb") as source:
                    members[name] = _put(file, name, iter(partial(source.read, BLOCK), b""), packed=True)
        manifest = _manifest(team, members, head)
        _put(file, MANIFEST, [manifest.model_dump_json(indent=1).encode()])
    return manifest


def _manifest(team: Team, members: dict[str, Member], head: str) -> Manifest:
    return Manifest(
        format=FORMAT,
        version=VERSION,
        crewdesk=settings.VERSION,
        exported_at=clock.now().isoformat(),
        team=team.name,
        slug=team.slug,
        head=head,
        branch=own_repository.branch(team.workspace),
        members=members,
    )


def _write_rows(file: zipfile.ZipFile, team: Team, members: dict[str, Member]) -> None:
    leave, places = renaming.leaving(team.workspace), Places()
    places["agents"] = {pk: place for place, pk in enumerate(_rows(TABLES[0], team).values_list("pk", flat=True))}

    def put(table: Table, rows: Iterable[Row]) -> None:
        name = ROWS.format(table.name)
        members[name] = _put(file, name, (line(row) for row in rows))
        members[name].rows = rows_of[table.name]

    rows_of: dict[str, int] = {}

    def counted(table: Table, rows: Iterable[Row]) -> Iterator[Row]:
        rows_of[table.name] = 0
        for row in rows:
            rows_of[table.name] += 1
            yield row

    put(TEAM, counted(TEAM, [_team(team, leave)]))
    for table in TABLES:
        put(table, counted(table, _table(table, team, places, leave)))
    put(TRANSCRIPTS, counted(TRANSCRIPTS, _transcripts(team, leave)))
    for blob in ContextBlob.objects.filter(team=team).order_by("pk").iterator(CHUNK):
        name = BLOB.format(blob.digest)
        members[name] = _put(file, name, _blob(blob.pk))


def _put(file: zipfile.ZipFile, name: str, parts: Iterable[bytes], *, packed: bool = False) -> Member:
    digest, size = hashlib.sha256(), 0
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
    with file.open(info, "w", force_zip64=True) as member:
        for part in parts:
            digest.update(part)
            size += len(part)
            member.write(part)
    return Member(sha256=digest.hexdigest(), size=size)


def _team(team: Team, leave: renaming.Change) -> Row:
    access = TeamAccess.objects.filter(team=team).order_by("pk").values_list("user__username", "level")
    row = {name: renaming.in_value(pack(field, getattr(team, name)), leave) for name, field in TEAM.columns.items()}
    return {**row, "created_by": team.created_by.username if team.created_by else "", "access": [list(one) for one in access]}


def _rows(table: Table, team: Team) -> QuerySet[Any]:
    return table.model._default_manager.filter(**{table.of: team}).order_by(*table.order)


def _table(table: Table, team: Team, places: Places, leave: renaming.Change) -> Iterator[Row]:
    mine = places.setdefault(table.name, {})
    if table.late and table.numbered:  # it may refer to a row that comes later in the file
        mine.update({pk: place for place, pk in enumerate(_rows(table, team).values_list("pk", flat=True))})
    known = any(table.name in other.refs.values() for other in TABLES)
    prepare = PREPARE.get(table.name, _as_it_is)
    for place, found in enumerate(_rows(table, team).iterator(CHUNK)):
        if table.numbered and known:
            mine[found.pk] = place
        row = {name: _packed(table, name, found, places, leave) for name in table.columns}
        yield prepare(row, found, places)


def _packed(table: Table, name: str, found: Any, places: Places, leave: renaming.Change) -> Any:
    value = getattr(found, name)
    refers = table.refs.get(name)
    if refers is not None:
        return value if value is None else places.get(refers, {}).get(value, value)
    field = table.columns[name]
    changed = renaming.in_value(pack(field, value), leave)
    most = getattr(field, "max_length", None)
    return value if isinstance(changed, str) and most is not None and len(changed) > most else changed


def _as_it_is(row: Row, found: Any, places: Places) -> Row:
    return row


def _run(row: Row, found: Run, places: Places) -> Row:
    """In a file nothing runs: a run that does is pending, as after a worker that left; it waits where it has asked something."""
    if found.status != RunStatus.RUNNING.value:
        return row
    open_ones = Decision.objects.filter(status=DecisionStatus.OPEN.value)
    waits = open_ones.filter(run=found).exists() or open_ones.filter(pk=found.waits_for_id).exists()
    return {
        **row,
        "status": RunStatus.PENDING.value,
        "due_at": NEVER if waits else 0.0,
        "reason": (Reason.PARKED if waits else Reason.INTERRUPTED).value,
        "interrupted": True,
    }


def _decision(row: Row, found: Decision, places: Places) -> Row:
    """Nobody waits for the answer any more; options that name an agent name it by its place in the file."""
    parked = row["parked"] or found.status == DecisionStatus.OPEN.value
    return {**row, "parked": parked, "payload": with_agents(row["payload"], places["agents"])}


def _event(row: Row, found: Any, places: Places) -> Row:
    return {**row, "agent_id": places["agents"].get(found.agent_id)}


def _checkpoint(row: Row, found: Any, places: Places) -> Row:
    """Whether it is intact is known only before anything in it is renamed."""
    return {**row, "data": {**row["data"], checkpoint.HASH: checkpoint.TRAVELS}} if checkpoint.intact(found.data) else row


PREPARE: Mapping[str, Callable[[Row, Any, Places], Row]] = {
    "runs": _run,
    "decisions": _decision,
    "events": _event,
    "checkpoints": _checkpoint,
}


def with_agents(payload: Any, names: Mapping[Any, Any]) -> Any:
    """Return the payload of an escalation with `reassign:<agent>` renamed; one that is not known stays away from any agent."""
    options = payload.get("options") if isinstance(payload, dict) else None
    if not isinstance(options, list):
        return payload
    return {**payload, "options": [_option(option, names) for option in options]}


def _option(option: Any, names: Mapping[Any, Any]) -> Any:
    action = str(option.get("action", "")) if isinstance(option, dict) else ""
    word, _, number = action.partition(":")
    if word != "reassign" or not number.isdigit():
        return option
    found = names.get(int(number))
    return {**option, "action": "retry" if found is None else f"reassign:{found}"}


def _blob(blob_id: int) -> Iterator[bytes]:
    for data in ContextChunk.objects.filter(blob=blob_id).order_by("position").values_list("data", flat=True).iterator(4):
        yield bytes(data)


def sessions(team: Team) -> list[str]:
    """Return every Claude session that the team, one of its attempts or a checkpoint may go on in."""
    found = {*Run.objects.filter(team=team).values_list("session_id", flat=True)}
    found |= {*Agent.objects.filter(team=team).values_list("session_id", flat=True)}
    for data in Checkpoint.objects.filter(team=team).values_list("data", flat=True).iterator(CHUNK):
        found |= named_sessions(data)
    return sorted(found - {""})


def named_sessions(data: Any) -> set[str]:
    """Return the sessions that a checkpoint's data names, at any depth."""
    if isinstance(data, list):
        return set().union(*map(named_sessions, data))
    if not isinstance(data, dict):
        return set()
    own = data.get("session_id")
    return set().union({own} if isinstance(own, str) and own else set(), *map(named_sessions, data.values()))


def _transcripts(team: Team, leave: renaming.Change) -> Iterator[Row]:
    for session in sessions(team):
        for found in TranscriptEntry.objects.filter(session_id=session).order_by("pk").iterator(CHUNK):
            row = {name: pack(field, getattr(found, name)) for name, field in TRANSCRIPTS.columns.items()}
            yield {**row, "entry": renaming.in_line(found.entry, leave)}
