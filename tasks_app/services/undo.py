"""Undo: acts of the lead that can be taken back as long as nothing has come of them; the way back is an act of its own.

Only what is safe: a queued task that was cancelled, a task that was given to another agent and has not started, a snooze. An
answer to an agent is never undone: the agent goes on with it at once.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from django.db import transaction

from tasks_app.domain.errors import Conflict
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import DecisionStatus, TaskStatus
from tasks_app.models import Decision, Event, Run, Task
from tasks_app.services import actions, events, expiry, idempotency, reviews, runs, scheduling, task_states, tasks, teams

AGAIN = {"cancelled": "as it was in the queue", "reassigned": "as it was before"}


class Act(StrEnum):
    """What can be undone."""

    CANCELLED = "cancelled"
    REASSIGNED = "reassigned"
    SNOOZED = "snoozed"


@dataclass(frozen=True)
class Undo:
    """How to take one act back: what it was, about what, how that stood before, and the last event that belongs to the act."""

    act: Act
    id: str  # of the task or the decision
    was: Mapping[str, Any]
    seq: int

    def plain(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return asdict(self)


def cancel(task_id: int, *, why: str = "", actor: str) -> Undo | None:
    """Cancel a task as `actions.cancel` does; returns how to undo it, None where more came of it than a queued task."""
    with transaction.atomic():
        before = _quiet(task_id)
        actions.cancel(task_id, why=why, actor=actor)
        return _of_task(Act.CANCELLED, task_id, before)


def reassign(
    task_id: int, *, agent_id: int | None, guidance: str, start: str, actor: str, idempotency_key: str = ""
) -> Undo | None:
    """Give a task out as `actions.reassign` does; returns how to undo it while it has not started, else None."""
    with transaction.atomic():
        before = None if idempotency.made(idempotency_key) else _quiet(task_id)
        actions.reassign(task_id, agent_id=agent_id, guidance=guidance, start=start, actor=actor, idempotency_key=idempotency_key)
        return _of_task(Act.REASSIGNED, task_id, before)


def snooze(decision_id: str, *, minutes: int, actor: str) -> Undo:
    """Snooze a decision; returns how to undo it."""
    actions.snooze(decision_id, minutes=minutes, actor=actor)
    return Undo(Act.SNOOZED, decision_id, {}, 0)


def take_back(undo: Undo, *, actor: str) -> str:
    """Undo an act; returns what to say about it. Raises `Conflict` where something has come of it since."""
    if undo.act is Act.SNOOZED:
        expiry.wake_up(undo.id, actor=actor)
        return "It waits again as before."
    return _task_back(undo, actor=actor)


def team_of(undo: Undo) -> int | None:
    """Return the team it is about; None: it is gone."""
    if undo.act is Act.SNOOZED:
        return Decision.objects.filter(pk=undo.id).values_list("team_id", flat=True).first()
    return Task.objects.filter(pk=int(undo.id)).values_list("team_id", flat=True).first()


def _task_back(undo: Undo, *, actor: str) -> str:
    task_id = int(undo.id)
    with transaction.atomic():
        events.lock(tasks.get(task_id).team_id)
        task = tasks.get(task_id)
        gone_on = Run.objects.filter(task=task, status__in=runs.OPEN).exists() or _last(task) != undo.seq
        source = TaskStatus.CANCELLED if undo.act is Act.CANCELLED else TaskStatus.PENDING
        if gone_on or not task_states.take_back(task_id, undo.was, source=source):
            now = task.status.replace("_", " ")
            raise Conflict(f"{task.label} has changed since: it is {now}. That cannot be undone any more.", field="undo")
        tasks.append_event(EventKind.TASK_UNDONE, task, actor=actor, data={"what": undo.act.value})
        teams.work_again(task.team_id)
    scheduling.tick(task.team_id)
    return f"Undone: {task.label} is {AGAIN[undo.act]}."


def _quiet(task_id: int) -> dict[str, Any] | None:
    """Return how a queued task stands, locked until the commit; None where something hangs on it that no undo brings back."""
    events.lock(tasks.get(task_id).team_id)
    task = tasks.get(task_id)
    hangs = (
        task.status != TaskStatus.PENDING.value
        or task.review_of_id is not None
        or bool(reviews.open_of(task_id))
        or Run.objects.filter(task=task, status__in=runs.OPEN).exists()
        or Decision.objects.filter(task=task, status=DecisionStatus.OPEN.value).exists()
    )
    return None if hangs else task_states.standing(task)


def _of_task(act: Act, task_id: int, before: dict[str, Any] | None) -> Undo | None:
    task = tasks.get(task_id)
    started = act is Act.REASSIGNED and task.status != TaskStatus.PENDING.value
    return None if before is None or started else Undo(act, str(task_id), before, _last(task))


def _last(task: Task) -> int:
    """The last event about a task."""
    found = Event.objects.filter(team_id=task.team_id, task_number=task.number).order_by("-seq")
    return found.values_list("seq", flat=True).first() or 0


def load(plain: Mapping[str, Any]) -> Undo:
    """Return what `Undo.plain` has written."""
    return Undo(Act(plain["act"]), str(plain["id"]), dict(plain["was"]), int(plain["seq"]))
