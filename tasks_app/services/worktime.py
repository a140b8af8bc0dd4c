"""Working time: how long an attempt has worked over all its lives. To wait for the lead, or for a process, is no work."""

from typing import Any

from django.db.models import Case, Exists, F, FloatField, OuterRef, Value, When
from django.db.models.functions import Greatest, Least

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import DecisionStatus, RunStatus
from tasks_app.models import Decision, Run
from tasks_app.services.capacity import WAITS
from tasks_app.services.clock import DatabaseNow


def until_now() -> Any:
    """The working time of running runs in seconds, as an expression: what is stored and, where nobody is asked, the time since.

    Each heartbeat stores it and renews the lease, so `lease_until` tells when that was. A life that is lost counts until its last
    heartbeat; no single step is longer than a lease, whatever is done to the clock.
    """
    asking = Decision.objects.filter(WAITS, run_id=OuterRef("pk"), status=DecisionStatus.OPEN.value)
    since = Least(DatabaseNow() - F("lease_until") + LEASE_S, Value(LEASE_S))
    step = Case(When(Exists(asking), then=Value(0.0)), default=Greatest(since, Value(0.0)), output_field=FloatField())
    return F("worked_s") + step


def left_s(run_id: str, fence: int, *, limit_s: float) -> float:
    """Return the working time that is left of `limit_s`, at most that; 0 or less when it is over. Raises `LeaseLost`."""
    held = Run.objects.filter(pk=run_id, fence=fence, status=RunStatus.RUNNING.value)
    worked = held.values_list(until_now(), flat=True).first()
    if worked is None:
        raise LeaseLost(f"Run {run_id} belongs to another worker now.")
    return limit_s - float(worked)
