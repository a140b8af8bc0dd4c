"""Messages between agents and the lead, with their receipts, and who writes to whom."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Max, Q

from tasks_app.domain.events import EventKind
from tasks_app.domain.messaging import Priority, Receipt, Settings, Wait, held_up, receipt, team_wait
from tasks_app.domain.statuses import AgentStatus
from tasks_app.domain.text import clean
from tasks_app.models import Event, Message, Team
from tasks_app.models.teams import LARGE_OF_TEAM

MOST = 1000
PAIRS = 100
"""Rows of the table who writes to whom; those that write most."""

_STATES: dict[Receipt, Q] = {
    Receipt.PAGE: Q(priority=Priority.STATUS.value),
    Receipt.QUEUED: Q(delivered_at=None, read_at=None, answered_at=None, acted_at=None) & ~Q(priority=Priority.STATUS.value),
    Receipt.HANDED: Q(delivered_at__isnull=False, read_at=None, answered_at=None, acted_at=None),
    Receipt.CONTEXT: Q(read_at__isnull=False, answered_at=None, acted_at=None),
    Receipt.ANSWERED: Q(answered_at__isnull=False, acted_at=None),
    Receipt.ACTED: Q(acted_at__isnull=False),
}


@dataclass(frozen=True)
class Note:
    """One message and how far it has come; `stop_s`: seconds until what ran was stopped for it."""

    id: str
    sender: str
    recipient: str
    recipient_pk: int | None
    recipient_stopped: bool
    team_wait: Wait | None
    body: str
    priority: str
    no_reply: bool
    reply_to: str
    broadcast: str
    meant_for: str
    created_at: dt.datetime
    delivered_at: dt.datetime | None
    read_at: dt.datetime | None
    answered_at: dt.datetime | None
    acted_at: dt.datetime | None
    acted_note: str
    stop_s: float | None

    @property
    def held_up(self) -> str:
        """Why it is queued for longer than until the next step of its agent, in words; empty where nothing keeps it."""
        if self.receipt is not Receipt.QUEUED or self.recipient_pk is None:
            return ""
        return held_up(self.recipient, stopped=self.recipient_stopped, team=self.team_wait)

    @property
    def receipt(self) -> Receipt:
        """How far it has come."""
        return receipt(
            self.priority, delivered=self.delivered_at, read=self.read_at, answered=self.answered_at, acted=self.acted_at
        )


@dataclass(frozen=True)
class Pair:
    """What one has written to another; `waiting`: not yet in the other's context, `answered`: answered or acted on."""

    sender: str
    recipient: str
    count: int
    waiting: int
    answered: int
    urgent: int
    last_at: dt.datetime


@dataclass(frozen=True)
class Held:
    """The last message that the guard against loops held back."""

    sender: str
    recipient: str
    why: str
    at: dt.datetime


@dataclass(frozen=True)
class Wanted:
    """Which messages: from or to `who` (a name), in a state (a `Receipt`), of a priority; empty: all."""

    who: str = ""
    state: str = ""
    priority: str = ""

    @property
    def where(self) -> Q:
        """Return the condition."""
        found = Q()
        if who := clean(self.who):
            found &= Q(sender_name=who) | Q(recipient_name=who)
        if self.state in tuple(Receipt):
            found &= _STATES[Receipt(self.state)]
        return found & Q(priority=clean(self.priority)) if self.priority else found


def of_team(team_id: int, wanted: Wanted | None = None, *, limit: int = 30) -> list[Note]:
    """Return the latest messages of a team, newest first; one query."""
    return _notes(Q(team_id=team_id) & (wanted or Wanted()).where, limit)


def of_ids(ids: Iterable[str]) -> list[Note]:
    """Return these messages, newest first; one query."""
    return _notes(Q(pk__in=list(ids)), MOST)


def of_runs(run_ids: Iterable[str]) -> list[Note]:
    """Return the messages that these attempts were given, newest first; one query."""
    return _notes(Q(delivered_run__in=list(run_ids)), 30)


def of_agent(agent_id: int, *, limit: int = 30) -> list[Note]:
    """Return the latest messages from and to an agent, newest first; one query."""
    return _notes(Q(sender_id=agent_id) | Q(recipient_id=agent_id), limit)


def _notes(where: Q, limit: int) -> list[Note]:
    rows: Iterable[Message] = (
        Message.objects.filter(where)
        .select_related("recipient", "team")
        .defer(*LARGE_OF_TEAM)
        .order_by("-created_at", "-id")[:limit]
    )
    return [_note(row) for row in rows]


def _note(row: Message) -> Note:
    return Note(
        id=row.pk,
        sender=row.sender_name,
        recipient=row.recipient_name,
        recipient_pk=row.recipient_id,
        recipient_stopped=row.recipient is not None and row.recipient.status == AgentStatus.STOPPED,
        team_wait=team_wait(
            status=row.team.status, ended=row.team.ended_at is not None, archived=row.team.archived_at is not None
        ),
        body=row.body,
        priority=row.priority,
        no_reply=row.no_reply,
        reply_to=row.reply_to_id or "",
        broadcast=row.broadcast,
        meant_for=row.meant_for,
        created_at=row.created_at,
        delivered_at=row.delivered_at,
        read_at=row.read_at,
        answered_at=row.answered_at,
        acted_at=row.acted_at,
        acted_note=row.acted_note,
        stop_s=row.stop_s,
    )


def pairs(team_id: int, *, limit: int = PAIRS) -> list[Pair]:
    """Return who writes to whom, the busiest first; one query."""
    rows = (
        Message.objects.filter(team_id=team_id)
        .values("sender_name", "recipient_name")
        .annotate(
            count=Count("pk"),
            waiting=Count("pk", filter=_STATES[Receipt.QUEUED] | _STATES[Receipt.HANDED]),
            answered=Count("pk", filter=_STATES[Receipt.ANSWERED] | _STATES[Receipt.ACTED]),
            urgent=Count("pk", filter=Q(priority=Priority.INTERRUPT.value)),
            last_at=Max("created_at"),
        )
        .order_by("-count", "sender_name", "recipient_name")[:limit]
    )
    return [
        Pair(
            row["sender_name"],
            row["recipient_name"],
            row["count"],
            row["waiting"],
            row["answered"],
            row["urgent"],
            row["last_at"],
        )
        for row in rows
    ]


def settings(team_id: int) -> Settings:
    """Return how a team talks."""
    return Settings.of(Team.objects.values_list("messaging", flat=True).get(pk=team_id))


def last_held(team_id: int) -> Held | None:
    """Return the last message that the guard against loops held back, or None."""
    row = Event.objects.filter(team_id=team_id, kind=EventKind.MESSAGE_REFUSED.value).order_by("-seq").first()
    if row is None:
        return None
    return Held(row.data.get("sender", ""), row.data.get("recipient", ""), row.data.get("why", ""), row.at)


def to_lead(team_id: int, message_id: str) -> Note | None:
    """Return a message to the human that can be replied to, or None."""
    found = _notes(Q(team_id=team_id, pk=clean(message_id)[:16], recipient=None, no_reply=False), 1)
    return found[0] if found else None
