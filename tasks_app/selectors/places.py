"""Which runs take a place under the cap of their team (`limits.parallel`), and how many places there are."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q

from tasks_app.domain.deciders import TURN
from tasks_app.domain.statuses import RunStatus
from tasks_app.selectors.clock import DatabaseNow
from tasks_app.selectors.worktime import asking

RUNNING = Q(Q(status=RunStatus.RUNNING.value), ~asking())
"""Those that run and do not wait for the lead: who waits leaves its place to another, however long its process is kept."""
DUE = Q(status=RunStatus.PENDING.value, due_at__lte=DatabaseNow())
"""Those that may run."""
TAKES_NONE = Q(task__type=TURN)
"""A turn of the lead agent: others may wait for it."""


def parallel(limits: Mapping[str, Any]) -> int:
    """How many runs of a team may run at once."""
    return int(limits.get("parallel") or 2)
