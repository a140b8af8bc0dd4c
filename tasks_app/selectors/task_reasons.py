"""Why a task is in its state, in words."""

import datetime as dt
from typing import TYPE_CHECKING

from tasks_app.domain.ids import task_label
from tasks_app.domain.statuses import RunStatus, TeamStatus
from tasks_app.models import Task
from tasks_app.selectors import places, workers
from tasks_app.selectors.crews import Crew
from tasks_app.selectors.open_work import OpenRun
from tasks_app.selectors.states import TaskState

if TYPE_CHECKING:
    from tasks_app.selectors.states import DerivedTask


def reason(task: "DerivedTask", state: TaskState, run: OpenRun | None, crew: Crew, now: dt.datetime) -> str:
    """Return why a task is in its state, in words; empty where the state says it all."""
    if state is TaskState.IN_FLIGHT:
        return _in_flight_reason(run, task.reviewed_in)
    if state is TaskState.FAILED:
        return f"attempt {task.attempts} of {task.attempts_allowed} failed; reassign it with guidance"
    if state is TaskState.QUEUED:
        return _queue_reason(task, crew, now)
    return ""


def _in_flight_reason(run: OpenRun | None, reviewed_in: int | None) -> str:
    if run is None and reviewed_in is not None:
        return f"{task_label(reviewed_in)} is a review of it: its verdict is awaited"
    if run is None:
        return "the agent finished, the task is still open: complete it, retry it or cancel it"
    if run.alive:
        return "stopping" if run.stopping else ""
    if run.status is RunStatus.RUNNING:
        return "its worker is gone: another takes it up" if workers.answering() else f"its worker is gone, {workers.NOBODY}"
    if not run.due:
        return "goes on later"
    return "waits for a free worker" if workers.answering() else workers.NOBODY


def _queue_reason(task: Task, crew: Crew, now: dt.datetime) -> str:
    if task.team.status == TeamStatus.PAUSED:
        return "the team is paused"
    if task.team.status == TeamStatus.STOPPED:
        return "the team is stopped"
    if task.held:
        return "a person stopped it, or nobody has judged it: start it again, reassign it or complete it by hand"
    if task.not_before is not None and task.not_before > now:
        return "tries again by itself"
    if task.assignee_id is not None and task.assignee_id not in crew.active:
        return f"{crew.names.get(task.assignee_id, 'its agent')} is stopped: reassign it"
    if task.assignee_id is None and task.role and task.role not in crew.roles:
        return f"no active agent has the role {task.role}: reassign it"
    if not crew.active:
        return "no agent is active"
    if not workers.answering():
        return workers.NOBODY
    most = places.parallel(task.team.limits)
    return f"waits for a place: {most} may be at work at once" if crew.at_work >= most else "waits for a free agent"
