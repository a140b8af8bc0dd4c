"""What speaks for a task: the latest attempt's report and proofs, unless the task was taken back since."""

from typing import Any

from django.db.models import Q

from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import TaskStatus
from tasks_app.models import Event, Run, Task

BACK = (EventKind.TASK_REOPENED.value, EventKind.CHECKPOINT_RESTORED.value)
FILES = (EventKind.FILES_REWOUND.value, EventKind.FILES_REWIND_UNDONE.value)


def last(task: Task) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return what came of proving its criteria last, and the report of the latest attempt; nothing where that was undone."""
    run = Run.objects.filter(task=task).order_by("-attempt").only("report", "proofs", "ended_at").first()
    if run is None or _undone(task, run):
        return [], {}
    return run.proofs, run.report or {}


def _undone(task: Task, run: Run) -> bool:
    """The task was reopened or put back to a checkpoint after the attempt, or its files were: what was true must be shown anew.

    Work that a reviewer sent back, or whose review was given up, stays as it was shown; so does that of files that came back.
    """
    if task.status != TaskStatus.PENDING.value or run.ended_at is None:
        return False
    ended, left, now, mine = run.ended_at, "", "", False
    since = Q(at__gte=ended) | Q(kind__in=FILES)
    events = Event.objects.filter(since, team_id=task.team_id, kind__in=(*BACK, *FILES)).order_by("seq")
    for kind, number, at, data in events.values_list("kind", "task_number", "at", "data"):
        if kind in FILES:  # a rewind of this task, or the undoing of one, also of one before the attempt
            mine = number == task.number if kind == EventKind.FILES_REWOUND.value else mine
            if mine and at >= ended:
                left, now = left or data.get("before", ""), data.get("to", "")
        elif task.label in data.get("tasks", ()) if kind == EventKind.CHECKPOINT_RESTORED.value else number == task.number:
            return True
    return bool(left != now)  # the snapshots that the attempt left, and that the files stand at
