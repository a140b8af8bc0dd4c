"""Messages between agents and the lead, with their receipts."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from tasks_app.domain.statuses import AgentStatus
from tasks_app.models import Message


@dataclass(frozen=True)
class Note:
    """One message and how far it has come."""

    id: str
    sender: str
    sender_pk: int | None
    recipient: str
    recipient_pk: int | None
    recipient_stopped: bool
    body: str
    priority: str
    created_at: dt.datetime
    delivered_at: dt.datetime | None
    read_at: dt.datetime | None


def of_team(team_id: int, *, limit: int = 30) -> list[Note]:
    """Return the latest messages of a team, newest first; one query."""
    return _notes(Q(team_id=team_id), limit)


def of_agent(agent_id: int, *, limit: int = 30) -> list[Note]:
    """Return the latest messages from and to an agent, newest first; one query."""
    return _notes(Q(sender_id=agent_id) | Q(recipient_id=agent_id), limit)


def _notes(where: Q, limit: int) -> list[Note]:
    rows: Iterable[Message] = Message.objects.filter(where).select_related("recipient").order_by("-created_at", "-id")[:limit]
    return [
        Note(
            id=row.pk,
            sender=row.sender_name,
            sender_pk=row.sender_id,
            recipient=row.recipient_name,
            recipient_pk=row.recipient_id,
            recipient_stopped=row.recipient is not None and row.recipient.status == AgentStatus.STOPPED,
            body=row.body,
            priority=row.priority,
            created_at=row.created_at,
            delivered_at=row.delivered_at,
            read_at=row.read_at,
        )
        for row in rows
    ]
