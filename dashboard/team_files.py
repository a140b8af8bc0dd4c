"""A team's file over HTTP, for the pages and the API: made whole on the disk, sent in blocks; taken from administrators."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import IO, Any, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import StreamingHttpResponse

from dashboard.access import Viewer
from tasks_app.domain.errors import Forbidden, Invalid
from tasks_app.selectors.teams import Identity
from tasks_app.services import clock, team_export, team_import

BLOCK = 2**20
"""Bytes that are in memory at once while a file is sent."""
MOST_NAME = 1000
"""Characters of a name that are looked at; the service says how many a name may have."""


def sent(team: Identity) -> StreamingHttpResponse:
    """Return the team's file as a download. It has no name on the disk: whatever ends the answer, nothing is left of it."""
    file: IO[bytes] = tempfile.TemporaryFile(dir=settings.HOME)  # noqa: SIM115 - closed when it is sent
    try:
        team_export.write(team.pk, file)
        size = file.tell()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    answer = StreamingHttpResponse(_blocks(file), content_type="application/zip")
    answer["Content-Length"] = str(size)
    answer["Content-Disposition"] = f'attachment; filename="{team.slug}-{clock.now():%Y%m%d-%H%M%S}.zip"'
    answer["Cache-Control"] = "no-store"
    return answer


async def _blocks(file: IO[bytes]) -> AsyncIterator[bytes]:
    try:
        while block := await asyncio.to_thread(file.read, BLOCK):
            yield block
    finally:
        file.close()


def may_import(viewer: Viewer) -> bool:
    """Whether the viewer may bring a team: its files and its rules come with it."""
    return viewer.superuser


def taken(file: "UploadedFile[Any] | None", *, name: str, viewer: Viewer) -> Identity:
    """Make the team of an uploaded file, paused. Raises `Forbidden`, `Invalid` or `Conflict`; then nothing has changed."""
    if not may_import(viewer):
        raise Forbidden("Only an administrator may import a team: its files, rules and settings come with it.", field="file")
    if file is None:
        raise Invalid("Choose the file of a team.", field="file")
    team = team_import.load(cast(IO[bytes], file), name=name[:MOST_NAME].strip(), user_id=viewer.user_id, actor=viewer.actor)
    return Identity(team.pk, team.slug, team.name, team.rehearsal)
