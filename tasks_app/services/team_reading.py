"""Reading a team's file: it is looked at as a whole before anything of it is believed. Whoever made it may be anybody."""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tasks_app.domain import json_schema, renaming
from tasks_app.domain.errors import TooLarge
from tasks_app.domain.team_file import (
    BLOB,
    MANIFEST,
    MEMBER,
    MOST_LINE,
    MOST_MANIFEST,
    MOST_MEMBERS,
    REPOSITORY,
    ROWS,
    SNAPSHOTS,
    Manifest,
    most_unpacked,
    read_manifest,
    refuse,
)
from tasks_app.services import team_snapshots
from tasks_app.services.team_tables import ALL, BY_NAME, TABLES, TEAM, TRANSCRIPTS, Table, missing, unpack

BLOCK = 2**20
DAMAGED = (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, RuntimeError, zlib.error)
"""What `zipfile` raises for a file that is cut off, changed, encrypted or packed in a way that it does not know."""
Row = dict[str, Any]


@dataclass(frozen=True)
class TeamFile:
    """An open file whose names, sizes and hashes are right."""

    zip: zipfile.ZipFile
    manifest: Manifest

    def rows(self, table: Table) -> Iterator[tuple[int, Row]]:
        """Yield (line, row) with every value as its column wants it. Raises `Invalid` that names line and column."""
        path = ROWS.format(table.name)
        with self.zip.open(path) as member:
            for number, raw in enumerate(iter(lambda: member.readline(MOST_LINE + 1), b""), 1):
                if len(raw) > MOST_LINE or not raw.endswith(b"\n"):
                    raise refuse("The line does not end, or is too long.", path=path, line=number)
                yield number, _row(table, raw, path, number)

    def blob(self, digest: str) -> Iterator[bytes]:
        """Yield the bytes of a blob."""
        with self.zip.open(BLOB.format(digest)) as member:
            while part := member.read(256 * 1024):
                yield part

    def unpack_bundles(self, folder: Path) -> None:
        """Write the git bundles into a folder, under names of our own."""
        for name in (SNAPSHOTS, REPOSITORY):
            if name in self.manifest.members:
                with self.zip.open(name) as member, (folder / Path(name).name).open("wb") as out:
                    while part := member.read(BLOCK):
                        out.write(part)


@contextmanager
def opened(file: IO[bytes]) -> Iterator[TeamFile]:
    """Open a team's file. Raises `Invalid`, or `TooLarge` where it would unpack to more than an honest one."""
    try:
        found = zipfile.ZipFile(file)
    except DAMAGED:
        raise refuse("It is no zip file, or not a whole one.") from None
    with found:
        yield TeamFile(found, _looked_at(found, _size(file)))


def _size(file: IO[bytes]) -> int:
    file.seek(0, 2)
    return file.tell()


def _looked_at(found: zipfile.ZipFile, packed: int) -> Manifest:
    infos = found.infolist()
    names = [info.filename for info in infos]
    odd = next((name for name in names if not MEMBER.fullmatch(name)), None)
    if odd is not None:
        raise refuse(f"“{odd[:80]}” is no name that such a file has.")
    if len(names) != len(set(names)) or len(names) > MOST_MEMBERS:
        raise refuse("It has a member twice, or too many of them.")
    if sum(info.file_size for info in infos) > most_unpacked(packed):
        raise TooLarge("This file cannot be imported: unpacked it would be far too large for what it is.", field="file")
    if MANIFEST not in names:
        raise refuse("It has no manifest.", path=MANIFEST)
    if found.getinfo(MANIFEST).file_size > MOST_MANIFEST:
        raise refuse("It is too large.", path=MANIFEST)
    try:
        manifest = read_manifest(found.read(MANIFEST))
    except DAMAGED:
        raise refuse("It is damaged.", path=MANIFEST) from None
    _members(found, manifest, set(names) - {MANIFEST})
    return manifest


def _members(found: zipfile.ZipFile, manifest: Manifest, names: set[str]) -> None:
    wanted = {*manifest.members, *(ROWS.format(table.name) for table in ALL)}
    for name in sorted(wanted ^ names):
        raise refuse("It is missing." if name in wanted else "The manifest does not know it.", path=name)
    for name, member in sorted(manifest.members.items()):
        digest, size = hashlib.sha256(), 0
        try:
            with found.open(name) as source:
                while (part := source.read(BLOCK)) and size <= member.size:
                    digest.update(part)
                    size += len(part)
        except DAMAGED:
            raise refuse("It is damaged.", path=name) from None
        if size != member.size or digest.hexdigest() != member.sha256:
            raise refuse("It is not what the manifest says (sha256): the file was changed or damaged.", path=name)


def _row(table: Table, raw: bytes, path: str, number: int) -> Row:
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError):
        raise refuse("The line is no JSON.", path=path, line=number) from None
    if not isinstance(given, dict):
        raise refuse("The line is no JSON object.", path=path, line=number)
    more = {"created_by", "access"} if table is TEAM else set()
    odd = sorted(set(given) - set(table.columns) - more)
    if odd:
        raise refuse("This Crewdesk knows no such column. Update it.", path=f"{path}: {odd[0][:60]}", line=number)
    row: Row = {name: given[name] for name in more & set(given)}
    for name, field in table.columns.items():
        try:
            if name in table.refs:
                row[name] = given.get(name)
            else:
                row[name] = unpack(table, name, given[name]) if name in given else missing(field)
            if name == "entry":
                renaming.in_line(row[name], str)
        except (ValueError, RecursionError) as wrong:
            words = str(wrong) if not isinstance(wrong, json.JSONDecodeError) else "It is no JSON."
            raise refuse(words, path=f"{path}: {name}", line=number) from None
    if place := team_snapshots.misnamed(table.name, row):
        raise refuse(team_snapshots.WRONG, path=f"{path}: {place}", line=number)
    return row


def check(file: TeamFile) -> dict[str, set[str]]:
    """Read every row once. Returns the ids of each table that has ids. Raises `Invalid` for the first thing that is wrong."""
    names: dict[str, set[str]] = {}
    counts: dict[str, int] = {}
    for table in (TEAM, *TABLES, TRANSCRIPTS):
        counts[table.name] = 0
        mine = names.setdefault(table.name, set())
        for number, row in file.rows(table):
            counts[table.name] += 1
            if "id" in table.columns:
                if row["id"] in mine or not row["id"].isalnum():
                    raise refuse("This id is there twice, or is none.", path=f"{ROWS.format(table.name)}: id", line=number)
                mine.add(row["id"])
        if counts[table.name] != file.manifest.rows(table.name):
            raise refuse("It has not as many rows as the manifest says.", path=ROWS.format(table.name))
    if counts["team"] != 1:
        raise refuse("It must have one row.", path=ROWS.format("team"))
    _references(file, names, counts)
    _log(file)
    _blobs(file)
    _schemas(file)
    return names


def _references(file: TeamFile, names: dict[str, set[str]], counts: dict[str, int]) -> None:
    for table in TABLES:
        for number, row in file.rows(table) if table.refs else ():
            for column, other in table.refs.items():
                value = row[column]
                if value is None and table.columns[column].null:
                    continue
                place = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < counts[other]
                if not (value in names[other] if isinstance(value, str) else place and not names[other]):
                    words = f"It names no row of {other}."
                    raise refuse(words, path=f"{ROWS.format(table.name)}: {column}", line=number)


def _log(file: TeamFile) -> None:
    """The log of a team has no gap and ends where the team's counter stands."""
    last = next(row["last_seq"] for _, row in file.rows(TEAM))
    before: int | None = None
    for number, row in file.rows(TABLES[-1]):
        if before is not None and row["seq"] != before + 1:
            raise refuse("The log has a gap here.", path=f"{ROWS.format('events')}: seq", line=number)
        before = row["seq"]
    if before is not None and before != last:
        raise refuse("The log does not end where the team says.", path=f"{ROWS.format('team')}: last_seq", line=1)


def _blobs(file: TeamFile) -> None:
    blobs = next(table for table in TABLES if table.name == "context_blobs")
    promised = set()
    for number, row in file.rows(blobs):
        member = file.manifest.members.get(BLOB.format(row["digest"]))
        if member is None or member.sha256 != row["digest"] or member.size != row["size"]:
            raise refuse("Its bytes are missing or others.", path=f"{ROWS.format(blobs.name)}: digest", line=number)
        promised.add(BLOB.format(row["digest"]))
    for name in file.manifest.members:
        if name.startswith("blobs/") and name not in promised:
            raise refuse("No row refers to it.", path=name)


def _schemas(file: TeamFile) -> None:
    """Schemas of shared entries are those that could be registered here: what checks a value must end, whoever made them."""
    table = BY_NAME["context_names"]
    for number, row in file.rows(table):
        flaws = () if row["schema"] is None else json_schema.flaws_of(row["schema"])
        for one in json_schema.problems(flaws, root="schema")[:1]:
            words = f"{one.message} {one.fix}".strip()
            raise refuse(words, path=f"{ROWS.format(table.name)}: {one.path}", line=number)
