"""Puts a task back to where it stood, by a checkpoint or for an undo: the one change of status that may go any way."""

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any

from tasks_app.domain.checkpoint import TaskState
from tasks_app.domain.statuses import TaskStatus
from tasks_app.models import Task

SAME = ("attempts", "attempts_allowed", "failed", "held", "guidance", "output", "completed_by", "completed_while_blocked_by")


def put_back(team_id: int, state: TaskState, *, assignee_id: int | None) -> int:
    """Write where the task stands; returns its primary key, 0 where there is none. Called under the team's lock.

    It is no move of `domain/transitions`: the caller has seen that nothing works on it. A queued task goes on from the files as
    they are: an attempt that starts clean would take them from an attempt that is undone.
    """
    changes: dict[str, Any] = {name: getattr(state, name) for name in SAME}
    found = Task.objects.filter(team_id=team_id, number=state.number)
    landed = found.update(
        status=state.status.value,
        assignee_id=assignee_id,
        evidence=json.loads(state.evidence),
        started_at=_moment(state.started_at),
        completed_at=_moment(state.completed_at),
        not_before=None,
        start_from="last" if state.status is TaskStatus.PENDING else "clean",
        **changes,
    )
    return found.values_list("pk", flat=True)[0] if landed else 0


KEPT = ("assignee_id", "guidance", "start_from", "fork", "failed", "held", "not_before", "attempts_allowed")
"""What cancelling a queued task or giving it out again changes besides its status."""


def standing(task: Task) -> dict[str, Any]:
    """Return how a queued task stands, as plain JSON values, for `take_back`."""
    found = {name: getattr(task, name) for name in KEPT}
    return found | {"not_before": task.not_before.isoformat() if task.not_before else None}


def take_back(task_id: int, was: Mapping[str, Any], *, source: TaskStatus) -> bool:
    """Put a task that is in `source` back into the queue as it stood (`standing`); returns whether it was there."""
    changes = {name: was[name] for name in KEPT} | {"not_before": _moment(was["not_before"])}
    landed = Task.objects.filter(pk=task_id, status=source.value).update(status=TaskStatus.PENDING.value, **changes)
    return bool(landed)


def _moment(text: str | None) -> dt.datetime | None:
    return dt.datetime.fromisoformat(text) if text else None
