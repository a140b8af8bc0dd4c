"""Forks: a new attempt of a task that begins with the conversation of an earlier one, up to a message of it."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from tasks_app.domain.errors import Conflict, Invalid, NotFound, TooLarge
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import StepKind, TaskStatus
from tasks_app.domain.text import one_line
from tasks_app.models import Agent, Run, Step, Task
from tasks_app.services import (
    agents,
    decisions,
    events,
    idempotency,
    rewinds,
    runs,
    scheduling,
    task_edits,
    tasks,
    teams,
    transcripts,
)

FILES = ("now", "then")
KINDS = (StepKind.SAID.value, StepKind.PROMPT.value)
SAID = 160
"""Characters of the message that are shown where the fork is spoken of."""
UNNAMED = (
    "This attempt was recorded by an older version, which did not note where in the conversation this message stands. "
    "Give the task out again instead."
)


@dataclass(frozen=True)
class Point:
    """A message that one can fork from. `moment`: the files that can be put back with it, None where none were kept."""

    run: Run
    step: Step
    moment: rewinds.Moment | None


def points(run_id: str) -> list[Step]:
    """Return the steps of a run that one can fork from, oldest first."""
    found = Step.objects.filter(run_id=run_id, kind__in=KINDS, parent_tool_use_id="").order_by("seq")
    return [step for step in found if step.data.get("uuid")]


def point(run_id: str, at: int) -> Point:
    """Return the message at step `at`. Raises `NotFound`, `Invalid` or `Conflict`, each saying what to do."""
    run = runs.get(run_id)
    step = Step.objects.filter(run=run, seq=at).first()
    if step is None:
        raise NotFound(f"Attempt {run.attempt} has no step {at}, or it is not kept any more.", field="at")
    if step.kind not in KINDS or step.parent_tool_use_id:
        raise Invalid(f"Step {at} is no message. Fork from a prompt, or from something that the agent itself said.", field="at")
    if not step.data.get("uuid"):
        raise Conflict(UNNAMED, field="at")
    return Point(run, step, rewinds.moment(run, at))


def fork(
    run_id: str,
    *,
    at: int,
    agent_id: int | None = None,
    guidance: str = "",
    files: str = "now",
    team_id: int | None = None,
    actor: str,
    idempotency_key: str = "",
) -> Task:
    """Let the task start again as a fork of this run at step `at`, with an agent (None: the same one). All or nothing.

    `files`: as they are `now`, or `then`: put back to the newest moment kept at or before the message. `team_id`: the run must
    be of this team. The old run stays as it is. Raises `DomainError`s that say what to do first.
    """
    if files not in FILES:
        raise Invalid("The files are those of `now` or of `then`.", field="files")
    if len(guidance) > task_edits.GUIDANCE_LIMIT:
        raise TooLarge(f"The guidance is longer than {task_edits.GUIDANCE_LIMIT:,} characters.", field="guidance")
    found = point(run_id, at)
    if team_id is not None and found.run.team_id != team_id:
        raise NotFound("There is no such attempt in this team.", field="run")
    if files == "then" and found.moment is None:
        raise Conflict(rewinds.NONE_KEPT, field="files")
    if known := idempotency.made(idempotency_key):
        return tasks.get(int(known))
    wanted = _Wanted(agent_id or found.run.agent_id, guidance, files, actor, idempotency_key)
    if files == "then" and found.moment is not None:
        with transaction.atomic():
            _may_start(found, wanted)  # refused before a file is touched
        with rewinds.gone_back(found.run.team, found.moment.snapshot) as moved, transaction.atomic():
            moved.over()
            _start(found, wanted)
            _tell(found, found.moment, moved, actor)
    else:
        with transaction.atomic():
            _start(found, wanted)
    scheduling.tick(found.run.team_id)
    return tasks.get(found.run.task_id)


@dataclass(frozen=True)
class _Wanted:
    agent_id: int
    guidance: str
    files: str
    actor: str
    idempotency_key: str


def _may_start(found: Point, wanted: _Wanted) -> tuple[Task, Agent]:
    """Return the task and the agent, under the team's lock. Raises `DomainError`s that say why it cannot be forked now."""
    task = _free(found.run)
    agent = agents.for_work(wanted.agent_id, task.team_id)
    if not found.run.started_session:
        raise Conflict(transcripts.GONE, field="run")
    transcripts.must_lead_to(found.run.session_id, str(found.step.data["uuid"]), run_id=found.run.pk)
    return task, agent


def _free(run: Run) -> Task:
    """Return the task as it is now, under its team's lock. Raises `Conflict` while something works on it."""
    events.lock(run.team_id)
    task = tasks.get(run.task_id)
    open_run = Run.objects.filter(task=task, status__in=runs.OPEN).select_related("agent").first()
    if open_run is not None:
        what = f"{open_run.agent.name} is on attempt {open_run.attempt} of {task.label}."
        raise Conflict(f"{what} Stop it first; when it is seen stopped, fork.", field="run")
    if task.status == TaskStatus.IN_PROGRESS.value:
        raise Conflict(f"{task.label} is being reviewed. Wait for the reviewers, or give the task out again.", field="run")
    if task.fork:
        raise Conflict(f"{task.label} starts already as a fork of attempt {task.fork.get('attempt')}. Wait for that one.")
    return task


def _start(found: Point, wanted: _Wanted) -> None:
    task, agent = _may_start(found, wanted)
    idempotency.is_first(wanted.idempotency_key, makes=task.pk)
    run, step, actor, guidance = found.run, found.step, wanted.actor, wanted.guidance
    data = {"to": agent.name, "attempt": run.attempt, "step": step.seq, "files": wanted.files, "guidance": guidance}
    if task.status != TaskStatus.PENDING.value:
        tasks.mark_reopened(task, why=f"to fork attempt {run.attempt}", actor=actor)
        teams.work_again(task.team_id)
        task = tasks.get(task.pk)
    more = task.attempts >= task.attempts_allowed
    kept = _kept(found, wanted.files)
    if not task_edits.mark_forked(task, agent_id=agent.pk, guidance=guidance, fork=kept, extra_attempt=more):
        raise Conflict(f"{task.label} has moved on. Look at it again.", field="run")
    decisions.withdraw_all(why="the task was forked", actor=actor, task_id=task.pk)
    tasks.append_event(EventKind.TASK_FORKED, task, actor=actor, data=data, run_id=run.pk, agent_id=agent.pk)


def _tell(found: Point, moment: rewinds.Moment, moved: rewinds.Moved, actor: str) -> None:
    run = found.run
    put = {"attempt": run.attempt, "step": moment.step, "before": moved.before, "to": moment.snapshot, "count": moved.count}
    runs.append_event(run, EventKind.FILES_REWOUND, actor=actor, data=put)


def _kept(found: Point, files: str) -> dict[str, Any]:
    """What the new attempt knows of what it is a fork of."""
    run, step = found.run, found.step
    return {
        "run": run.pk,
        "attempt": run.attempt,
        "agent": run.agent.name,
        "step": step.seq,
        "said": one_line(step.text, SAID),
        "prompt": step.kind == StepKind.PROMPT.value,
        "session": run.session_id,
        "message": str(step.data["uuid"]),
        "files": files,
        "files_step": found.moment.step if files == "then" and found.moment else None,
    }
