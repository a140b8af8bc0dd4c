"""The values of shared entries that a checkpoint holds: in itself, or in the team's store of blobs; proved by their digest."""

import datetime as dt
import json
from typing import Any

from tasks_app.domain import checkpoint
from tasks_app.domain.checkpoint import Content, EntryState
from tasks_app.domain.errors import Invalid
from tasks_app.models import ContextBlob, ContextChunk


def of(team_id: int, content: Content) -> dict[str, Any]:
    """Return every value by the name of its entry. Raises `Invalid` where one is gone or is not what was saved."""
    return {one.name: json.loads(_text(team_id, one)) for one in content.context}


def _text(team_id: int, one: EntryState) -> str:
    text = one.json_text
    if text is None:
        blob = ContextBlob.objects.filter(team_id=team_id, digest=one.digest).first()
        chunks = ContextChunk.objects.filter(blob=blob).order_by("position").values_list("data", flat=True) if blob else ()
        text = b"".join(bytes(chunk) for chunk in chunks).decode(errors="replace")
    if checkpoint.digest(text) != one.digest:
        words = f"This checkpoint is damaged: the value of “{one.name}” is not what was saved. Nothing was changed."
        raise Invalid(words, field="checkpoint")
    return text


def left_s(one: EntryState, now: dt.datetime) -> float | None:
    """Return for how many seconds an entry still lives; None: for ever."""
    if one.expires_at is None:
        return None
    return max((dt.datetime.fromisoformat(one.expires_at) - now).total_seconds(), 1.0)
