"""Capacity: how many runs of a team are at work, and how many may be."""

from typing import Any

from django.db.models import Q

from tasks_app.domain.deciders import TURN
from tasks_app.domain.statuses import RunStatus
from tasks_app.models import Run
from tasks_app.selectors.worktime import asking
from tasks_app.services.clock import DatabaseNow


def at_work(team_id: int, *, due: bool = False) -> int:
    """How many runs take a place under the team's cap: those that run and do not wait for the lead; `due`: and those that may.

    A turn of the lead agent takes none, for others may wait for it. An agent that waits for an answer
    leaves its place to another, however long its process is kept.
    """
    working: Q = Q(Q(status=RunStatus.RUNNING.value), ~asking())
    if due:
        working = working | Q(status=RunStatus.PENDING.value, due_at__lte=DatabaseNow())
    return Run.objects.filter(working, team_id=team_id).exclude(task__type=TURN).count()


def parallel(limits: dict[str, Any]) -> int:
    """How many runs of a team may run at once."""
    return int(limits.get("parallel") or 2)
