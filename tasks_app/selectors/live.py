"""What open pages need to know: where each team's log stands, which keys are new, who waits for the lead."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q

from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import DecisionStatus
from tasks_app.models import Decision, Event, Team
from tasks_app.selectors import inbox


@dataclass(frozen=True)
class Line:
    """One event, as far as live pages care: which blocks it makes stale and whether it opened a decision."""

    seq: int
    keys: tuple[str, ...]
    opens: bool


@dataclass(frozen=True)
class Opened:
    """An open decision, to be announced."""

    id: str
    kind: str
    title: str
    agent: str
    team: str
    team_id: int


def positions(team_ids: Iterable[int], *, newer_than: int | None = None) -> dict[int, int]:
    """Return {team pk: last_seq} of these teams and, with `newer_than`, of every team with a higher pk. One query."""
    wanted = Q(pk__in=list(team_ids))
    if newer_than is not None:
        wanted |= Q(pk__gt=newer_than)
    return dict(Team.objects.filter(wanted).values_list("pk", "last_seq"))


def lines(team_id: int, *, after: int, upto: int, limit: int) -> Sequence[Line]:
    """Return the events with after < seq <= upto in order, at most `limit`."""
    rows = Event.objects.filter(team_id=team_id, seq__gt=after, seq__lte=upto).order_by("seq")
    found = rows.values_list("seq", "keys", "kind")[:limit]
    return [Line(seq, tuple(keys), kind == EventKind.DECISION_OPENED.value) for seq, keys, kind in found]


def waiting(team_ids: Iterable[int]) -> int:
    """Return how many decisions of these teams are open (snoozed ones count)."""
    return inbox.total(list(team_ids)).open


def opened(team_id: int, *, after: int, upto: int) -> Sequence[Opened]:
    """Return the decisions that events with after < seq <= upto opened and that are still open, oldest first."""
    events = Event.objects.filter(team_id=team_id, kind=EventKind.DECISION_OPENED.value, seq__gt=after, seq__lte=upto)
    rows = Decision.objects.filter(team_id=team_id, status=DecisionStatus.OPEN.value, pk__in=events.values("decision_id"))
    return [
        Opened(row.id, row.kind, row.title, row.agent.name if row.agent else "", row.team.name, row.team_id)
        for row in rows.select_related("agent", "team").order_by("opened_at", "id")
    ]
