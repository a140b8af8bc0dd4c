"""Large shared values outside their rows: kept once per content, in the database, and removed when nothing points to them."""

import hashlib
from collections.abc import Iterable
from typing import Final

from django.db.models import Exists, OuterRef, Sum

from tasks_app.domain.errors import TooLarge
from tasks_app.models import CheckpointBlob, ContextBlob, ContextChunk, ContextEntry, ContextVersion

CHUNK: Final = 256 * 1024
MOST_OF_TEAM: Final = 200 * 1024 * 1024
"""Bytes of all blobs of a team, earlier versions included."""


def keep(team_id: int, data: bytes) -> ContextBlob:
    """Store the bytes, or find them stored; called with the team locked. Raises `TooLarge` where the team's store is full."""
    digest = hashlib.sha256(data).hexdigest()
    known = ContextBlob.objects.filter(team_id=team_id, digest=digest).first()
    if known is not None:
        return known
    used = ContextBlob.objects.filter(team_id=team_id).aggregate(all=Sum("size"))["all"] or 0
    if used + len(data) > MOST_OF_TEAM:
        most = MOST_OF_TEAM // 2**20
        raise TooLarge(
            f"The team shares {most} MB of large values already. Delete one, or share the path of a file.", field="value"
        )
    blob = ContextBlob.objects.create(team_id=team_id, digest=digest, size=len(data))
    ContextChunk.objects.bulk_create(
        [ContextChunk(blob=blob, position=n, data=data[at : at + CHUNK]) for n, at in enumerate(range(0, len(data), CHUNK))],
        batch_size=8,
    )
    return blob


def drop_unused(blob_ids: Iterable[int | None]) -> None:
    """Remove those of these blobs that nothing points to any more; called with the team locked."""
    wanted = {pk for pk in blob_ids if pk is not None}
    if not wanted:
        return
    pointing = [Exists(model.objects.filter(blob=OuterRef("pk"))) for model in (ContextEntry, ContextVersion, CheckpointBlob)]
    ContextBlob.objects.filter(pk__in=wanted).exclude(pointing[0]).exclude(pointing[1]).exclude(pointing[2]).delete()
