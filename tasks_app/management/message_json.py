"""A message as the API and the terminal give it."""

from typing import Any

from tasks_app.selectors.messages import Note


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
        **{name: moment.isoformat() if moment else None for name, moment in moments.items()},
        "acted_note": one.acted_note,
        "stopped_after_s": one.stop_s,
    }
