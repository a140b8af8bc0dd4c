"""Decisions that time ends or quiets: timeouts that were set, snoozing, and the word that somebody looks."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from tasks_app.decision_kinds import registry
from tasks_app.domain.errors import Invalid
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import DecisionStatus
from tasks_app.domain.transitions import EXPIRE
from tasks_app.models import Decision
from tasks_app.services import clock, decisions, events


def expire_due() -> int:
    """open → expired where a timeout that was set has run out: never consent; its kind says what it means. Returns how many."""
    due = Decision.objects.filter(status=DecisionStatus.OPEN.value, expires_at__lte=clock.now())
    return sum(_expire(pk) for pk in list(due.values_list("pk", flat=True)))


@transaction.atomic
def _expire(decision_id: str) -> bool:
    decision = decisions.get(decision_id)
    events.lock(decision.team_id)
    landed = Decision.objects.filter(pk=decision_id, status__in=EXPIRE.sources).update(
        status=EXPIRE.target,
        closed_why="nobody answered in time",
        choice=registry.get(decision.kind).UNANSWERED.choice,
        note="Nobody answered in time. This is not consent.",
    )
    if landed:
        decisions.append_event(EventKind.DECISION_EXPIRED, decision, data={"kind": decision.kind})
        decisions.wake_run(decision, why="nobody answered in time")
    return bool(landed)


@transaction.atomic
def snooze(decision_id: str, *, minutes: int, actor: str) -> None:
    """Quiet the reminders for a while; it stays open and counted."""
    events.lock(decisions.get(decision_id).team_id)
    decision = decisions.get(decision_id)
    decisions.must_be_open(decision)
    if not 1 <= minutes <= 24 * 60:
        raise Invalid("Snooze for 1 minute to 24 hours.", field="minutes")
    Decision.objects.filter(pk=decision_id).update(snoozed_until=timezone.now() + timedelta(minutes=minutes))
    decisions.append_event(EventKind.NOTE, decision, actor=actor, data={"text": f"snoozed for {minutes} min"})


@transaction.atomic
def wake_up(decision_id: str, *, actor: str) -> None:
    """End a snooze. Raises as for an answer where the request is closed; one that is awake stays so."""
    events.lock(decisions.get(decision_id).team_id)
    decision = decisions.get(decision_id)
    decisions.must_be_open(decision)
    if Decision.objects.filter(pk=decision_id, snoozed_until__isnull=False).update(snoozed_until=None):
        decisions.append_event(EventKind.NOTE, decision, actor=actor, data={"text": "awake again"})


@transaction.atomic
def look(decision_id: str, *, actor: str) -> None:
    """Tell the others that somebody looks at it, and quiet its reminders for ten minutes; it stays open, anybody may answer."""
    events.lock(decisions.get(decision_id).team_id)
    decision = decisions.get(decision_id)
    decisions.must_be_open(decision)
    Decision.objects.filter(pk=decision_id).update(looked_by=actor[:80], looked_at=clock.now())
    decisions.append_event(EventKind.NOTE, decision, actor=actor, data={"text": "is looking"})
