"""A team as one file: what such a file is called inside, what its manifest says, and how large it may be."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks_app.domain.errors import Invalid, Problem

FORMAT: Final = "crewdesk-team"
VERSION: Final = 1
"""Rises when a file can no longer be read by an older Crewdesk."""
MANIFEST: Final = "manifest.json"
ROWS: Final = "rows/{}.jsonl"
BLOB: Final = "blobs/{}"
SNAPSHOTS: Final = "workspace/snapshots.bundle"
REPOSITORY: Final = "workspace/repository.bundle"
MEMBER: Final = re.compile(
    r"rows/[a-z_]{1,40}\.jsonl|blobs/[0-9a-f]{64}|workspace/(?:snapshots|repository)\.bundle|manifest\.json"
)
"""The only names there are: none of them leads out of a folder."""

MOST_MANIFEST: Final = 16 * 2**20
MOST_LINE: Final = 64 * 2**20
MOST_MEMBERS: Final = 50_000
MOST_BYTES: Final = 32 * 2**30
"""Of everything, unpacked."""
RATIO, ROOM = 100, 256 * 2**20
"""Unpacked it may be so many times as large as the file, and in any case so large."""

WORKSPACE: Final = "{crewdesk:workspace}"
"""Stands for the folder the team works in, wherever a text names it."""
IDS: Final = re.compile(r"(?<![0-9A-Za-z])(?:[a-z][0-9a-z]{8}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![0-9A-Za-z])")
"""What may be one of our ids, or the id of a Claude session."""


class Member(BaseModel):
    """One member of the file, as the manifest promises it."""

    model_config = ConfigDict(extra="forbid")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)  # bytes, unpacked
    rows: int | None = Field(default=None, ge=0)


class Manifest(BaseModel):
    """What the file holds, and who made it."""

    model_config = ConfigDict(extra="ignore")
    format: str
    version: int
    crewdesk: str = Field(max_length=40)
    exported_at: str = Field(max_length=40)
    team: str = Field(min_length=1, max_length=120)
    slug: str = Field(max_length=60)
    head: str = Field(default="", pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})?$")  # snapshot of the workspace at the export
    branch: str = Field(default="", max_length=200, pattern=r"^(?:\w[\w./-]*)?$")  # of a team with a repository of its own
    members: dict[str, Member]

    def rows(self, table: str) -> int:
        """Return how many rows a table has."""
        member = self.members.get(ROWS.format(table))
        return (member.rows or 0) if member else 0


def refuse(message: str, *, path: str = "", line: int | None = None) -> Invalid:
    """Return the error that names the place in the file."""
    problem = Problem(message, path=path, line=line)
    return Invalid(f"This file cannot be imported. {problem}", field="file", problems=(problem,))


def read_manifest(raw: bytes) -> Manifest:
    """Return the manifest. Raises `Invalid`: no JSON, another format, a newer version, something missing."""
    given = _object(raw)
    if given.get("format") != FORMAT:
        raise refuse("It is no file of a Crewdesk team.", path=f"{MANIFEST}: format")
    version = given.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise refuse("It does not say which version of the format it has.", path=f"{MANIFEST}: version")
    if version > VERSION:
        made = str(given.get("crewdesk"))[:40]
        raise refuse(
            f"Crewdesk {made} has made it, in version {version} of the format; this one reads up to {VERSION}. Update Crewdesk.",
            path=f"{MANIFEST}: version",
        )
    try:
        return Manifest.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise refuse(f"{first['msg']}.", path=f"{MANIFEST}: {'.'.join(map(str, first['loc']))}") from None


def _object(raw: bytes) -> Mapping[str, Any]:
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError):
        raise refuse("It is no JSON.", path=MANIFEST) from None
    if not isinstance(given, dict):
        raise refuse("It is no JSON object.", path=MANIFEST)
    return given


def most_unpacked(packed: int) -> int:
    """Return how many bytes a file of `packed` bytes may have in all when it is unpacked."""
    return min(MOST_BYTES, max(ROOM, packed * RATIO))
