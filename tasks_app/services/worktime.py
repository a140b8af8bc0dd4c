"""Working time (selectors/worktime.py says what that is): whether an attempt has any left, and what it is counted by."""

from django.db import transaction
from django.db.models import QuerySet

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import RunStatus
from tasks_app.models import Run
from tasks_app.selectors.worktime import until_now
from tasks_app.services import locks
from tasks_app.services.clock import DatabaseNow

__all__ = ["left_s", "renew", "so_far_s", "until_now"]


@transaction.atomic
def renew(held: QuerySet[Run]) -> None:
    """Begin the leases of these runs anew, by one UPDATE with what they have worked: that is counted from the lease before."""
    locks.in_order(held)
    held.update(worked_s=until_now(), lease_until=DatabaseNow() + LEASE_S)


def left_s(run_id: str, fence: int, *, limit_s: float) -> float:
    """Return the working time that is left of `limit_s`, at most that; 0 or less when it is over. Raises `LeaseLost`."""
    held = Run.objects.filter(pk=run_id, fence=fence, status=RunStatus.RUNNING.value)
    worked = held.values_list(until_now(), flat=True).first()
    if worked is None:
        raise LeaseLost(f"Run {run_id} belongs to another worker now.")
    return limit_s - float(worked)


def so_far_s(run: Run) -> float:
    """Return how long an attempt has worked over all its lives, in seconds; until now where a worker has it."""
    if run.status != RunStatus.RUNNING.value:
        return run.worked_s
    worked = Run.objects.filter(pk=run.pk, status=run.status).values_list(until_now(), flat=True).first()
    return run.worked_s if worked is None else float(worked)
