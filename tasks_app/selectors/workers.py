"""Workers as pages, the terminal and health checks see them."""

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Exists, F, Max, OuterRef

from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import RunStatus, TaskStatus, TeamStatus
from tasks_app.models import Dependency, Run, Task, Worker
from tasks_app.selectors.clock import DatabaseNow
from tasks_app.selectors.look import shelf

NOBODY = "no worker answers: it goes on when one is back"
"""Why something stands still that a worker would take up."""


@dataclass(frozen=True)
class WorkerFacts:
    """A worker process that has been heard of lately."""

    name: str
    host: str
    pid: int
    slots: int
    silent_s: float
    has_key: bool


@dataclass(frozen=True)
class Silence:
    """There is work, and no worker answers. `since` is the last sign of one; None: there was none."""

    since: dt.datetime | None


def alive(*, host: str = "", silent_s: float = LEASE_S) -> list[WorkerFacts]:
    """Return the workers (of `host`, or of all) whose last heartbeat is at most `silent_s` old; one query."""
    rows = Worker.objects.annotate(silent=DatabaseNow() - F("seen_at")).filter(silent__lte=silent_s).order_by("name")
    rows = rows.filter(host=host) if host else rows
    return [WorkerFacts(row.name, row.host, row.pid, row.slots, row.silent, row.has_key) for row in rows]


def answering() -> bool:
    """Whether any worker gives a sign of life: by its heartbeat, or by the lease that it renews; one or two queries a look."""
    known = shelf("workers")
    if "answering" not in known:
        known["answering"] = (
            Worker.objects.filter(seen_at__gte=DatabaseNow() - LEASE_S).exists()
            or Run.objects.filter(status=RunStatus.RUNNING.value, lease_until__gt=DatabaseNow()).exists()
        )
    return bool(known["answering"])


def silence(team_ids: Collection[int]) -> Silence | None:
    """Return since when no worker answers, where these teams have work for one; None: all is well, or there is nothing to do."""
    if answering() or not _has_work(team_ids):
        return None
    seen = Worker.objects.aggregate(at=Max("seen_at"))["at"]
    lease = Run.objects.filter(status=RunStatus.RUNNING.value).aggregate(at=Max("lease_until"))["at"]
    last = max(seen or 0.0, (lease or 0.0) - LEASE_S)
    return Silence(dt.datetime.fromtimestamp(last, dt.UTC) if last > 0 else None)


def _has_work(team_ids: Collection[int]) -> bool:
    """Whether a run is under way or due, or a task of an active team could start."""
    runs = Run.objects.filter(team_id__in=team_ids)
    if runs.filter(status=RunStatus.RUNNING.value).exists():
        return True
    if runs.filter(status=RunStatus.PENDING.value, due_at__lte=DatabaseNow()).exists():
        return True
    unmet = Dependency.objects.filter(task=OuterRef("pk")).exclude(needs__status=TaskStatus.COMPLETED.value)
    ready = Task.objects.filter(team_id__in=team_ids, status=TaskStatus.PENDING.value, failed=False, held=False)
    ready = ready.filter(team__status=TeamStatus.ACTIVE.value, team__archived_at=None)
    return ready.exclude(Exists(unmet)).exists()
