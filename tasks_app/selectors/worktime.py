"""Working time: how long an attempt has worked over all its lives. To wait for the lead, or for a process, is no work."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import (
    Case,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    FloatField,
    OuterRef,
    Q,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Greatest, Least, Now
from django.utils import timezone

from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, RunStatus
from tasks_app.models import Decision
from tasks_app.selectors.clock import DatabaseNow

WAITS = ~Q(kind=DecisionKind.STALL.value)
"""The open decisions that a run cannot go on without. A stall is about a process: when that is gone, so is the question."""


@dataclass(frozen=True)
class Worktime:
    """How long an attempt has worked so far, and how long it has waited for the lead, in seconds."""

    worked_s: float = 0.0
    waited_s: float = 0.0
    working: bool = False  # it goes on now
    waiting: bool = False  # so does the waiting


def asking() -> Exists:
    """Whether a run waits for the lead, as an expression."""
    return Exists(Decision.objects.filter(WAITS, run_id=OuterRef("pk"), status=DecisionStatus.OPEN.value))


def until_now() -> Any:
    """The working time of running runs in seconds, as an expression: what is stored and, where nobody is asked, the time since.

    Each heartbeat stores it and renews the lease, so `lease_until` tells when that was. A life that is lost counts until its last
    heartbeat; no single step is longer than a lease, whatever is done to the clock.
    """
    since = Least(DatabaseNow() - F("lease_until") + LEASE_S, Value(LEASE_S))
    step = Case(When(asking(), then=Value(0.0)), default=Greatest(since, Value(0.0)), output_field=FloatField())
    return F("worked_s") + step


COLUMNS = ("work_s", "asked_for", "asks", "joined_at")
"""The annotations in the order of `read`."""


def columns() -> dict[str, Any]:
    """Return what `read` needs of a run, as annotations: its working time, for how long it has asked, and whether it asks now."""
    asked = Decision.objects.filter(WAITS, run_id=OuterRef("pk")).order_by().values("run_id")
    until = Case(
        When(status=DecisionStatus.ANSWERED.value, then="answered_at"),
        When(status=DecisionStatus.EXPIRED.value, then="expires_at"),
        When(status=DecisionStatus.OPEN.value, then=Now()),
        default="run__ended_at",  # it was withdrawn, as a rule when its run ended
    )
    lasted = Sum(ExpressionWrapper(until - F("opened_at"), output_field=DurationField()))
    return {
        "work_s": Case(When(status=RunStatus.RUNNING.value, then=until_now()), default=F("worked_s"), output_field=FloatField()),
        "asked_for": Subquery(asked.annotate(lasted=lasted).values("lasted"), output_field=DurationField()),
        "asks": asking(),
        "joined_at": Case(When(waits_for__status=DecisionStatus.OPEN.value, then="waits_for__opened_at")),
    }


def read(
    work_s: float,
    asked_for: dt.timedelta | None,
    asks: bool,
    joined_at: dt.datetime | None,
    *,
    alive: bool,
    began: dt.datetime | None,
    ended: dt.datetime | None,
) -> Worktime:
    """Return the working time of a run from `columns`. `alive`: a worker holds a live lease on it.

    Requests that were open at the same time count more than once in `asked_for`: it waited at most for what it has not worked.
    """
    asked_s = (asked_for.total_seconds() if asked_for else 0.0) + span_s(joined_at)
    waited_s = max(0.0, min(asked_s, span_s(began, ended) - work_s))
    waiting = ended is None and (asks or joined_at is not None)
    return Worktime(work_s, waited_s, working=alive and not waiting, waiting=waiting)


def span_s(began: dt.datetime | None, ended: dt.datetime | None = None) -> float:
    """Return the seconds from `began` to `ended` (now), never negative; 0 where nothing has begun."""
    return max(((ended or timezone.now()) - began).total_seconds(), 0.0) if began else 0.0
