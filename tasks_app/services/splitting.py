"""Splitting: a task that is too large becomes several, which it then waits for and puts together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import transaction

from tasks_app.domain import task_marks
from tasks_app.domain.deciders import TURN
from tasks_app.domain.errors import Conflict, Invalid
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import Reason, TaskStatus
from tasks_app.domain.task_marks import MOST_DEPTH, SPLIT_DEPTH, SPLIT_OF
from tasks_app.models import Run, Task
from tasks_app.services import decisions, deliveries, events, runs, scheduling, task_edits, tasks
from tasks_app.services.tasks import Draft

MOST_PARTS = 10
GUIDANCE = "This task was split into {parts}. They are done: put together what they yielded, check all criteria and report."


@dataclass(frozen=True)
class Part:
    """One part; `after` are the places (from 0) of other parts that must be done before it."""

    draft: Draft
    after: tuple[int, ...] = ()


@transaction.atomic
def split(task_id: int, parts: Sequence[Part], *, actor: str) -> list[Task]:
    """Make the parts of an unfinished task; what runs on it is stopped, and it goes on when they are done.

    Raises `Conflict` for one that is finished or a part of a part, `Invalid` naming the field.
    """
    events.lock(tasks.get(task_id).team_id)
    task = tasks.get(task_id)
    _must_be_splittable(task, parts)
    needs = [needed.pk for needed in tasks.open_blockers(task.pk)]
    made: list[Task] = []
    for place, part in enumerate(parts):
        if wrong := [one for one in part.after if not 0 <= one < place]:
            raise Invalid(f"Part {place + 1} can only wait for parts before it, not for part {wrong[0] + 1}.", field="parts")
        marks = {SPLIT_OF: task.label, SPLIT_DEPTH: _depth(task) + 1}
        after = tuple(made[one].pk for one in part.after) or tuple(needs)
        draft = replace(part.draft, depends_on=after, priority=task.priority)
        made.append(tasks.create(task.team_id, draft, actor=actor, marks=marks))
    _wait_for(task, made, actor=actor)
    return made


def _depth(task: Task) -> int:
    depth: int = task_marks.believed(task.metadata, reviews=False).get(SPLIT_DEPTH, 0)
    return depth


def _must_be_splittable(task: Task, parts: Sequence[Part]) -> None:
    if task.status not in tasks.UNFINISHED:
        raise Conflict(f"{task.label} is {task.status.replace('_', ' ')}: it cannot be split any more.", field="taskId")
    if task.type == TURN or task.review_of_id:
        raise Conflict(f"{task.label} is a turn or a review: it cannot be split.", field="taskId")
    if _depth(task) >= MOST_DEPTH:
        raise Conflict(f"{task.label} is a part of a part: it is not split again. Hand it on to the human.", field="taskId")
    if not 2 <= len(parts) <= MOST_PARTS:
        raise Invalid(f"Give from 2 to {MOST_PARTS} parts.", field="parts")


def _wait_for(task: Task, made: Sequence[Task], *, actor: str) -> None:
    """The task waits for its parts; what runs on it, and what it asked, is over."""
    labels = ", ".join(one.label for one in made)
    task_edits.add_dependencies(task.pk, needs=[one.pk for one in made], actor=actor)
    words = GUIDANCE.format(parts=labels)
    if task.status == TaskStatus.IN_PROGRESS.value and Run.objects.filter(task=task, status__in=runs.OPEN).exists():
        deliveries.stop_open_run(task, actor=actor, reason=Reason.SUPERSEDED, held=False)
        tasks.plan_next(task, agent_id=task.assignee_id, guidance=words, start="last", actor=actor)
    elif task.status == TaskStatus.PENDING.value:
        more = task.attempts >= task.attempts_allowed
        tasks.mark_ready_again(task, agent_id=task.assignee_id, guidance=words, start="last", actor=actor, extra_attempt=more)
        decisions.withdraw_all(why=f"{task.label} was split into {labels}", actor=actor, task_id=task.pk)
    else:
        raise Conflict(f"{task.label} is under review: it cannot be split now.", field="taskId")
    tasks.append_event(EventKind.TASK_SPLIT, task, actor=actor, data={"parts": labels})


def split_and_schedule(task_id: int, parts: Sequence[Part], *, actor: str) -> list[Task]:
    """`split`, and give out what can begin."""
    made = split(task_id, parts, actor=actor)
    scheduling.tick(made[0].team_id)
    return made
