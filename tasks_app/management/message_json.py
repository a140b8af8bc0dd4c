"""A message as the API and the terminal give it."""

from collections.abc import Sequence
from typing import Any, Protocol

from tasks_app.selectors import messages
from tasks_app.selectors.messages import Note


class Message(Protocol):
    """A message that was stored."""

    pk: str
    recipient_name: str


def sent(made: Sequence[Message]) -> list[dict[str, Any]]:
    """Return what was just sent: its id, to whom, and why it waits (`held_up`, null where nothing keeps it)."""
    notes = {one.id: one for one in messages.of_ids(one.pk for one in made)}
    return [{"id": one.pk, "to": one.recipient_name, "held_up": notes[one.pk].held_up or None} for one in made]


def note(one: Note) -> dict[str, Any]:
    """Return a message with its receipts; moments are ISO texts, `stopped_after_s` seconds."""
    moments = {name: getattr(one, name) for name in ("created_at", "delivered_at", "read_at", "answered_at", "acted_at")}
    return {
        "id": one.id,
        "from": one.sender,
        "to": one.recipient,
        "meant_for": one.meant_for,
        "message": one.body,
        "priority": one.priority,
        "no_reply": one.no_reply,
        "reply_to": one.reply_to,
        "broadcast": one.broadcast,
        "receipt": one.receipt.value,
        "held_up": one.held_up or None,
        **{name: moment.isoformat() if moment else None for name, moment in moments.items()},
        "acted_note": one.acted_note,
        "stopped_after_s": one.stop_s,
    }
