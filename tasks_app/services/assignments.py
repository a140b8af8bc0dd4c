"""Assignments that come as a message: other tools send frames. Only the scheduler gives tasks out, so they change nothing."""

from tasks_app.domain import messaging
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import TaskStatus
from tasks_app.models import Event, Task
from tasks_app.services import events, keys

IGNORED = "assignment for finished task ignored"
FINISHED = (TaskStatus.COMPLETED.value, TaskStatus.CANCELLED.value)


def is_late(team_id: int, body: str, *, actor: str) -> bool:
    """Whether the text assigns a task that is finished: said once in the log, however often it comes. Under the team's lock."""
    number = messaging.assigned(body)
    task = Task.objects.filter(team_id=team_id, number=number, status__in=FINISHED).first() if number else None
    if task is None:
        return False
    said = Event.objects.filter(team_id=team_id, kind=EventKind.NOTE.value, task_number=number, data__text=IGNORED)
    if not said.filter(at__gte=task.completed_at or task.created_at).exists():
        data = {"text": IGNORED}
        events.append(team_id, EventKind.NOTE, actor=actor, keys=(keys.task(task.pk),), task_number=number, data=data)
    return True
