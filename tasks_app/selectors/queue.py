"""The queue of a team: what may start, in its order, and what is left to do."""

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from tasks_app.domain.statuses import UNFINISHED, TaskStatus
from tasks_app.models import Dependency, Run, Task
from tasks_app.selectors.written import OPEN_RUNS

WAITS = ~Q(needs__status=TaskStatus.COMPLETED.value)
"""The dependencies that a task still waits for."""


def unfinished(team_id: int) -> QuerySet[Task]:
    """Return the tasks that are neither completed nor cancelled."""
    return Task.objects.filter(team_id=team_id, status__in=[status.value for status in UNFINISHED])


def ready(team_id: int) -> QuerySet[Task]:
    """Pending tasks that may start now, in order. One whose last attempt is still being stopped waits until that is gone."""
    return (
        Task.objects.filter(team_id=team_id, status=TaskStatus.PENDING.value, failed=False, held=False)
        .filter(Q(not_before=None) | Q(not_before__lte=Now()))
        .exclude(pk__in=Dependency.objects.filter(WAITS, task__team_id=team_id).values("task_id"))
        .exclude(pk__in=Run.objects.filter(team_id=team_id, status__in=OPEN_RUNS).values("task_id"))
        .order_by("priority", "position", "number")
    )
