"""A team made from its file: looked at whole, then written in one transaction, or not at all."""

import itertools
import logging
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from django.contrib.auth import get_user_model
from django.db import DataError, IntegrityError, connection, transaction
from django.utils.module_loading import import_string

from tasks_app.decision_kinds.base import payload_hash
from tasks_app.domain import checkpoint, renaming, task_marks
from tasks_app.domain import names as naming
from tasks_app.domain.ask_keys import ASKED, ask_key, is_prose
from tasks_app.domain.asked import line, visible_json
from tasks_app.domain.errors import Conflict, Invalid
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import new_id
from tasks_app.domain.statuses import RunStatus, TeamStatus
from tasks_app.domain.team_file import refuse
from tasks_app.domain.text import one_line
from tasks_app.models import ContextChunk, Run, Team, TeamAccess, TranscriptEntry
from tasks_app.selectors.checkpoints import mark
from tasks_app.services import bundles, events, keys, teams, usage, workspaces
from tasks_app.services.team_export import named_sessions, with_agents
from tasks_app.services.team_reading import Row, TeamFile, check, opened
from tasks_app.services.team_tables import BY_NAME, TABLES, TEAM, TRANSCRIPTS, Table

logger = logging.getLogger(__name__)
BATCH = 500
PROJECT_KEY = "tasks_app.runners.claude.places.project_key"
"""Loaded only when it is wanted: the SDK takes two seconds."""
IMPORTING = 0x63726577
"""The number of the advisory lock."""
DAMAGED = "It does not fit together: {}"


@dataclass
class Arrival:
    """A team that is being made, and what its rows are called here."""

    team: Team
    change: renaming.Change
    ids: Mapping[str, str]
    keys: dict[str, list[int]] = field(default_factory=dict)  # table → primary key by place in the file
    waits: dict[str, str] = field(default_factory=dict)  # run → request that another run has asked for both
    left_out: list[str] = field(default_factory=list)  # tasks with metadata that only Crewdesk may write, and did not


def load(file: IO[bytes], *, name: str = "", user_id: int | None, actor: str, same: bool = False, access: bool = False) -> Team:
    """Make the team of a file and return it: paused, so that nothing works before somebody has looked.

    All rows get new ids; with `same`, for a database that is empty, it keeps its ids and its address. With `access` people of
    the names in the file, where they are known here, may see or lead it again. Raises `Invalid` for whatever is wrong with the
    file, naming the place, and `Conflict` where the team's name is taken, with a suggestion; then nothing has changed.
    """
    with opened(file) as found:
        known = check(found)
        slug = _slug(name or found.manifest.team, address=found.manifest.slug if same else "")
        workspaces.claim(slug)
        try:
            _put_files(found, slug)
            team = _write(found, slug, name, _new_names(found, known, same=same), user_id=user_id, actor=actor)
            if access:
                row = next(row for _, row in found.rows(TEAM))
                give_access(team.pk, [(str(who), str(level)) for who, level in row.get("access", [])])
            return team
        except (IntegrityError, DataError) as error:
            raise refuse(DAMAGED.format(one_line(str(error), 200))) from None
        finally:
            teams.drop_folder_of_none(slug)


def _slug(name: str, *, address: str) -> str:
    """Return a free address: `address` itself where it is free, else one of the name. Raises `Invalid` or `Conflict`."""
    wanted = one_line(name, 121)
    if not wanted or len(wanted) > 120:
        raise Invalid("The team needs a name of at most 120 characters.", field="name")
    _must_be_free(wanted)
    return naming.slug(address or wanted, {*teams.RESERVED, *Team.objects.values_list("slug", flat=True), *workspaces.taken()})


def _must_be_free(name: str) -> None:
    used = list(Team.objects.values_list("name", flat=True))
    if name.casefold() in {other.casefold() for other in used}:
        free = naming.unique(name, used)
        raise Conflict(f"There is a team “{name}” already. Give this one another name, such as “{free}”.", field="name")


def _put_files(found: TeamFile, slug: str) -> None:
    with tempfile.TemporaryDirectory(prefix="crewdesk-import-") as folder:
        found.unpack_bundles(Path(folder))
        bundles.put_back(slug, Path(folder), head=found.manifest.head, branch=found.manifest.branch)


def _new_names(found: TeamFile, known: Mapping[str, set[str]], *, same: bool) -> dict[str, str]:
    if same:
        return {}
    ids = {old: new_id(old[0]) for mine in known.values() for old in mine}
    sessions = set()
    for table, column in (("runs", "session_id"), ("agents", "session_id"), ("transcripts", "session_id")):
        sessions |= {row[column] for _, row in found.rows(BY_NAME[table])}
    for _, row in found.rows(BY_NAME["checkpoints"]):
        sessions |= named_sessions(row["data"])
    return ids | {old: str(uuid.uuid4()) for old in sessions if old}


@transaction.atomic
def _write(found: TeamFile, slug: str, name: str, ids: Mapping[str, str], *, user_id: int | None, actor: str) -> Team:
    wanted = one_line(name or found.manifest.team, 120)
    _one_at_a_time()
    _must_be_free(wanted)
    workspace = str(workspaces.root(slug) / "work")
    change = renaming.arriving(workspace, ids)
    row = next(row for _, row in found.rows(TEAM))
    arrival = Arrival(_team(row, slug, wanted, workspace, user_id, change), change, ids)
    for table in TABLES:
        _table(found, table, arrival)
    _transcripts(found, arrival, import_string(PROJECT_KEY)(workspace))
    for run in Run.objects.filter(team=arrival.team, status=RunStatus.PENDING.value, cost_due=True):
        usage.note_unreported_cost(run)
    left_out = one_line(", ".join(arrival.left_out), 1_000)
    if left_out:
        logger.warning("%s was imported without metadata that Crewdesk cannot have written, of %s", slug, left_out)
    data = {"name": found.manifest.team, "exported_at": found.manifest.exported_at, "left_out": left_out}
    events.append(arrival.team.pk, EventKind.TEAM_IMPORTED, actor=actor, keys=(keys.TEAMS,), data=data)
    return Team.objects.get(pk=arrival.team.pk)


def _one_at_a_time() -> None:
    """Names are compared without case, which no constraint does: of two imports at once the second sees the first's name."""
    if connection.vendor == "postgresql":  # SQLite has one writer anyway
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [IMPORTING])


def _team(row: Row, slug: str, name: str, workspace: str, user_id: int | None, change: renaming.Change) -> Team:
    values = {column: renaming.in_value(row[column], change) for column in TEAM.columns}
    status = values["status"] if values["status"] == TeamStatus.STOPPED.value else TeamStatus.PAUSED.value
    mode = "git" if values["workspace_mode"] == "git" else "copy"  # its folder is one of our own now
    own = {"status": status, "workspace_mode": mode, "archived_at": None, "created_by_id": user_id}
    team = Team.objects.create(**{**values, **own}, slug=slug, name=name, workspace=workspace)
    if user_id is not None:
        TeamAccess.objects.create(team=team, user_id=user_id, level="lead")
    return team


def give_access(team_id: int, access: Iterable[tuple[str, str]]) -> None:
    """Let people of these names see or lead the team, where they are known here; for a team that comes back where it was."""
    users = get_user_model().objects
    for name, level in access:
        user = users.filter(username=name).first()
        if user is not None and level in ("lead", "viewer"):
            TeamAccess.objects.get_or_create(team_id=team_id, user=user, defaults={"level": level})


def _table(found: TeamFile, table: Table, arrival: Arrival) -> None:
    made: list[int] = []
    late: list[tuple[Any, Row]] = []
    rows = (row for _, row in found.rows(table))
    for batch in _batches(rows):
        objects = [_object(table, row, arrival) for row in batch]
        table.model._default_manager.bulk_create(objects)
        made += [one.pk for one in objects] if table.numbered else []
        late += [(one.pk, row) for one, row in zip(objects, batch, strict=True) if any(row[c] is not None for c in table.late)]
        if table.name == "context_blobs":
            _chunks(found, objects)
    arrival.keys[table.name] = made
    for pk, row in late:
        if table.name == "runs":
            arrival.waits[pk] = row["waits_for_id"]
        else:
            _set_late(table, pk, row, arrival)
    if table.name == "decisions":  # what runs wait for together is there now
        for pk, value in arrival.waits.items():
            Run.objects.filter(pk=pk).update(waits_for_id=arrival.ids.get(value, value))


def _set_late(table: Table, pk: Any, row: Row, arrival: Arrival) -> None:
    refs = {column: _ref(table, column, row[column], arrival) for column in table.late}
    table.model._default_manager.filter(pk=pk).update(**refs)


def _ref(table: Table, column: str, value: Any, arrival: Arrival) -> Any:
    if value is None:
        return None
    return arrival.ids.get(value, value) if isinstance(value, str) else arrival.keys[table.refs[column]][value]


def _object(table: Table, row: Row, arrival: Arrival) -> Any:
    values: Row = {}
    for column, wanted in table.columns.items():
        value = row[column]
        if column in table.late:
            continue
        if column in table.refs:
            values[column] = _ref(table, column, value, arrival)
        else:
            values[column] = renaming.in_value(value, arrival.change, getattr(wanted, "max_length", None))
    if table.name == "tasks":
        values["metadata"] = _believed(values, row, arrival)
    if table.name == "decisions":
        values |= _asked(values, row, arrival)
    if table.name == "checkpoints":
        values["data"] = checkpoint.arriving(values["data"], team=mark(arrival.team))
    if table.name == "events":
        agents, place = arrival.keys["agents"], row["agent_id"]
        there = place is not None and 0 <= place < len(agents)
        values |= {"agent_id": agents[place] if there else None, "keys": [keys.team(arrival.team.pk)]}
    if any(f.attname == "team_id" for f in table.model._meta.concrete_fields):
        values["team_id"] = arrival.team.pk
    return table.model(**values)


def _believed(values: Row, row: Row, arrival: Arrival) -> Row:
    """What an agent could set before it was reserved must not keep a team from coming back, and decides on nothing here."""
    reviews = row["review_of_id"] is not None
    if task_marks.odd(values["metadata"], reviews=reviews):
        arrival.left_out.append(f"T-{row['number']}")
    return task_marks.believed(values["metadata"], reviews=reviews)


def _asked(values: Row, row: Row, arrival: Arrival) -> Row:
    """What is asked names other ids and another folder now: so do the sums that answers and repeated calls are compared with."""
    known = with_agents(values["payload"], dict(enumerate(arrival.keys["agents"])))
    payload = visible_json(known, prose=is_prose(row["kind"]))
    said: Row = {"title": line(values["title"], 300)}
    if payload == row["payload"]:
        return said
    found: Row = {**said, "payload": payload, "payload_hash": payload_hash(payload)}
    if row["kind"] in ASKED and not payload.get("auto"):
        found["ask_key"] = ask_key(row["kind"], payload)
    return found


def _chunks(found: TeamFile, blobs: list[Any]) -> None:
    for blob in blobs:
        for position, data in enumerate(found.blob(blob.digest)):
            ContextChunk.objects.create(blob=blob, position=position, data=data)


def _transcripts(found: TeamFile, arrival: Arrival, project_key: str) -> None:
    rows = (row for _, row in found.rows(TRANSCRIPTS))
    for batch in _batches(rows):
        TranscriptEntry.objects.bulk_create(
            TranscriptEntry(
                **{
                    **row,
                    "project_key": project_key[:300],
                    "session_id": arrival.ids.get(row["session_id"], row["session_id"]),
                    "entry": renaming.in_line(row["entry"], arrival.change),
                }
            )
            for row in batch
        )


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(itertools.islice(rows, BATCH)):
        yield batch
