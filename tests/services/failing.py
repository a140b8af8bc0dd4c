"""Attempts that fail, one or all of them."""

from tasks_app.domain.statuses import Reason, RunStatus
from tasks_app.models import Run
from tasks_app.services import endings, runs, scheduling
from tests.services import world


def fail(held, reason=Reason.REPORTED, detail="It does not work.", **ending):
    endings.finish(held.id, held.fence, endings.Ending(RunStatus.FAILED, reason, detail, **ending))


def open_run(task):
    return Run.objects.select_related("agent").get(task=task, status__in=runs.OPEN)


def take_any(crew, place=0):
    return world.take(open_run(crew.tasks[place]).pk)


def fail_for_good(crew, place=0):
    """Let every allowed attempt fail."""
    for _ in range(crew.tasks[place].attempts_allowed):
        scheduling.tick(crew.team.pk)
        fail(take_any(crew, place))
    scheduling.tick(crew.team.pk)
