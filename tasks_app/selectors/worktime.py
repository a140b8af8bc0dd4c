"""Working time: how long an attempt has worked over all its lives. To wait for the lead, or for a process, is no work."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import (
    Case,
    Exists,
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
from tasks_app.selectors.clock import DatabaseNow, Seconds

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


def _asked_s() -> Subquery:
    """For how long a run has asked the lead in all, as an expression; null where it never did."""
    asked = Decision.objects.filter(WAITS, run_id=OuterRef("pk")).order_by().values("run_id")
    until = Case(
        When(status=DecisionStatus.ANSWERED.value, then="answered_at"),
        When(status=DecisionStatus.EXPIRED.value, then="expires_at"),
        When(status=DecisionStatus.OPEN.value, then=Now()),
        default="run__ended_at",  # it was withdrawn, as a rule when its run ended
    )
    return Subquery(asked.annotate(lasted=Sum(Seconds(until, F("opened_at")))).values("lasted"))


ADDED: Mapping[str, Any] = {
    "asked_s": _asked_s(),
    "asks": asking(),
    "joined": F("waits_for__status"),
    "joined_at": F("waits_for__opened_at"),
}
"""What `Facts` needs beside a run's own columns, as annotations. Made once: most of a short statement's time is its making."""


class Facts(NamedTuple):
    """What tells the working time of a run: some of its columns, what is `ADDED` to them, and `DatabaseNow`."""

    status: str
    worked_s: float
    lease_until: float
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    database_s: float  # the clock of its lease
    asked_s: float | None
    asks: bool
    joined: str | None  # state of the request of another run that it waits for
    joined_at: dt.datetime | None

    @property
    def silent_s(self) -> float:
        """Seconds since its last heartbeat; meaningful while it runs."""
        return self.database_s - self.lease_until + LEASE_S

    @property
    def alive(self) -> bool:
        """Whether a worker holds a live lease on it."""
        return self.status == RunStatus.RUNNING and self.silent_s < LEASE_S

    @property
    def work_s(self) -> float:
        """How long it has worked: as `until_now` says it, while it runs."""
        if self.status != RunStatus.RUNNING or self.asks:
            return self.worked_s
        return self.worked_s + max(min(self.silent_s, LEASE_S), 0.0)


def read(run: Facts) -> Worktime:
    """Return the working time of a run.

    Requests that were open at the same time count more than once in `asked_s`: it waited at most for what it has not worked.
    """
    joined_at = run.joined_at if run.joined == DecisionStatus.OPEN else None
    asked_s = (run.asked_s or 0.0) + span_s(joined_at)
    waited_s = max(0.0, min(asked_s, span_s(run.started_at, run.ended_at) - run.work_s))
    waiting = run.ended_at is None and (run.asks or joined_at is not None)
    return Worktime(run.work_s, waited_s, working=run.alive and not waiting, waiting=waiting)


def span_s(began: dt.datetime | None, ended: dt.datetime | None = None) -> float:
    """Return the seconds from `began` to `ended` (now), never negative; 0 where nothing has begun."""
    return max(((ended or timezone.now()) - began).total_seconds(), 0.0) if began else 0.0
