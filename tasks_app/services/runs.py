"""Runs: sole writer of their life. Every write of a worker names its fence and is refused when the run moved on."""

import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Max, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from tasks_app import wake
from tasks_app.domain.errors import AlreadyClaimed, Conflict, LeaseLost, NotFound
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import new_id
from tasks_app.domain.leases import NEVER
from tasks_app.domain.statuses import AgentStatus, DecisionStatus, Reason, RunStatus, TeamStatus
from tasks_app.domain.text import clean, clean_json, mask_json
from tasks_app.domain.transitions import GIVE_BACK_RUN
from tasks_app.models import Agent, Decision, Run, Task, Team
from tasks_app.selectors.worktime import WAITS
from tasks_app.services import agents, budgets, events, keys, rows, snapshots, tasks, usage, worktime
from tasks_app.services.clock import DatabaseNow, now_s
from tasks_app.task_types import registry as task_types

OPEN = (RunStatus.PENDING.value, RunStatus.RUNNING.value)
RELEASED = "released"
"""`stop_reason` of a run that was stopped with its agent or team: its task goes back to the queue."""


def asked_for(run_id: str) -> Q:
    """The open decisions that the run waits for: its own, and one it shares with others whose budget is used up as well."""
    return WAITS & Q(status=DecisionStatus.OPEN.value) & (Q(run_id=run_id) | Q(waiting_runs=run_id))


@dataclass(frozen=True)
class Held:
    """A run as the worker that claimed it knows it."""

    id: str
    fence: int
    team_id: int
    task_id: int
    agent_id: int


def get(run_id: str) -> Run:
    """Return the run with team, task and agent; raises NotFound."""
    run = rows.run(run_id)
    if run is None:
        raise NotFound("This run does not exist any more.")
    return run


def append_event(
    run: Run, kind: EventKind, *, actor: str = events.SYSTEM, data: dict[str, Any] | None = None, more: tuple[str, ...] = ()
) -> None:
    """Append an event about the run: its own block, its task and its agent become stale."""
    events.append_all(run.team_id, [line(run, kind, actor=actor, data=data, more=more)])


def line(
    run: Run, kind: EventKind, *, actor: str = events.SYSTEM, data: dict[str, Any] | None = None, more: tuple[str, ...] = ()
) -> events.Line:
    """Return the event that `append_event` appends, for a caller that appends several together."""
    names = {keys.run(run.pk), keys.task(run.task_id), keys.agent(run.agent_id), keys.tasks(run.team_id), *more}
    return events.Line(kind, actor, names, task_number=run.task.number, run_id=run.pk, agent_id=run.agent_id, data=data or {})


@transaction.atomic
def claim_task(task_id: int, *, agent_id: int, actor: str) -> Run:
    """Give a ready task to an agent: task in_progress and a new attempt, in one step; exactly one caller wins.

    Raises NotFound (no such agent in the team), Conflict (agent stopped or busy), Blocked or AlreadyClaimed.
    """
    team = events.lock(tasks.get(task_id).team_id)
    task = tasks.get(task_id)  # as it is now that nobody else changes it
    agent = Agent.objects.filter(pk=agent_id, team_id=task.team_id).first()
    if agent is None:
        raise NotFound("There is no such agent in this team.", field="agent")
    return give(team, task, agent, actor=actor)


def give(team: Team, task: Task, agent: Agent, *, actor: str) -> Run:
    """`claim_task` for a caller that holds the team's lock and has read all three under it."""
    return give_all(team, [(task, agent)], actor=actor)[0]


def give_all(team: Team, given: Sequence[tuple[Task, Agent]], *, actor: str, keep: bool = False) -> list[Run]:
    """`give` of many tasks at once, in their order: all of them, or by one of its errors none.

    `keep`: nobody is nudged for the first, for the caller has a place for it.
    """
    for task, agent in given:
        if agent.status != AgentStatus.ACTIVE.value:
            raise Conflict(f"{agent.name} is stopped and takes no task.", field="agent")
        task.team = team
    if team.status == TeamStatus.STOPPED.value:
        raise Conflict(f"{team.name} is stopped.")
    if team.workspace_due:
        raise Conflict(f"The files of {team.name} are being put back. Try again in a moment.")
    try:
        with transaction.atomic():
            tasks.mark_claimed(given)
            made = _create(given)
    except IntegrityError:
        raise AlreadyClaimed(f"{given[0][1].name} already works on another task.", field="agent") from None
    events.append_all(team.pk, [line(run, EventKind.TASK_CLAIMED, actor=actor, data=_claimed(run)) for run in made])
    for run in made[1 if keep else 0 :]:
        transaction.on_commit(partial(wake.nudge, run.pk), robust=True)
    return made


def _claimed(run: Run) -> dict[str, Any]:
    return {"agent": run.agent.name, "run": run.pk, "attempt": run.attempt}


def _create(given: Sequence[tuple[Task, Agent]]) -> list[Run]:
    ids = [task.pk for task, _ in given]
    attempts = dict(Run.objects.filter(task_id__in=ids).values_list("task_id").annotate(Max("attempt")))
    now = now_s()
    made = Run.objects.bulk_create(_new(task, agent, attempt=attempts.get(task.pk, 0) + 1, now=now) for task, agent in given)
    Task.objects.filter(pk__in=ids).update(guidance="", start_from="clean", fork={})
    return made


def _new(task: Task, agent: Agent, *, attempt: int, now: float) -> Run:
    return Run(
        pk=new_id(task_types.get(task.type).PREFIX),
        team_id=task.team_id,
        task=task,
        agent=agent,
        attempt=attempt,
        due_at=now,
        nudged_at=now,
        guidance=task.guidance,
        start_from=task.start_from,
        fork=task.fork,
        session_id=str(uuid.uuid4()) if task.fork else "",
        created_at=timezone.now(),
        **budgets.of_new_run(task),
    )


def guard(run_id: str, fence: int, **changes: Any) -> None:
    """Change a run that this worker holds; raises `LeaseLost` where it does not hold it any more."""
    held = {"id": run_id, "fence": fence, "status": RunStatus.RUNNING.value}
    if not (Run.objects.filter(**held).update(**changes) if changes else rows.change(Run, held, rows.Changes({"fence": fence}))):
        raise LeaseLost(f"Run {run_id} belongs to another worker now.")


@contextmanager
def holding(run_id: str, fence: int) -> Iterator[None]:
    """One transaction in which this worker holds the run for certain. Raises `LeaseLost` where it does not."""
    with transaction.atomic():
        team_id = Run.objects.filter(pk=run_id).values_list("team_id", flat=True).first()
        if team_id is None:
            raise LeaseLost(f"Run {run_id} does not exist any more.")
        events.lock(team_id)
        guard(run_id, fence)
        yield


@transaction.atomic
def park(
    run_id: str,
    fence: int,
    *,
    reason: Reason,
    detail: str = "",
    retry_at: float | None = None,
    pause_s: float = 0.0,
    interrupted: bool,
) -> None:
    """running → pending: the same attempt goes on later, on any worker. Raises `LeaseLost`.

    It is due again when the last open decision is answered; without one: at `retry_at` (Unix seconds), which counts as a
    retry, or after `pause_s`.
    """
    run = get(run_id)
    events.lock(run.team_id)
    waits = Decision.objects.filter(asked_for(run_id)).update(parked=True)
    due = NEVER if waits else (retry_at or now_s() + pause_s)
    retries = F("retries") + (1 if retry_at else 0)
    guard(
        run_id,
        fence,
        status=GIVE_BACK_RUN.target,
        due_at=due,
        not_before=retry_at or 0,
        nudged_at=0,
        worked_s=worktime.until_now(),
        lease_until=0,
        pid=0,
        reason=reason.value,
        detail=clean(detail),
        interrupted=interrupted,
        retries=retries,
    )
    usage.note_unreported_cost(run)
    agents.now(run.agent_id, "")
    append_event(run, EventKind.RUN_PARKED, data={"reason": reason.value, "fence": fence}, more=(keys.inbox(run.team_id),))
    if not waits and not retry_at and not pause_s:
        transaction.on_commit(partial(wake.nudge, run_id), robust=True)


def join(run_id: str, decision_id: str | None) -> None:
    """Let the run wait for a decision that another run has asked for; None: for nobody else's."""
    Run.objects.filter(pk=run_id).update(waits_for=decision_id)


def make_due(run_id: str, *, why: str) -> bool:
    """A parked run may go on, not before its back-off ends; returns whether there was one. Called under the team's lock."""
    parked = Run.objects.filter(pk=run_id, status=RunStatus.PENDING.value, due_at__gte=NEVER)
    now = parked.filter(not_before__lte=DatabaseNow()).update(due_at=DatabaseNow(), nudged_at=DatabaseNow(), reason="", detail="")
    landed = now or parked.update(due_at=F("not_before"))
    if landed:
        append_event(get(run_id), EventKind.RUN_RESUMABLE, data={"reason": why})
    if now:
        transaction.on_commit(partial(wake.nudge, run_id), robust=True)
    return bool(landed)


@transaction.atomic
def ask_to_stop(run_id: str, *, actor: str, reason: Reason, held: bool) -> bool:
    """Ask the worker that runs it to stop it; a second time asks again. Returns False where nothing runs.

    `held`: its task waits for a person afterwards; else it goes back to the queue.
    """
    run = get(run_id)
    events.lock(run.team_id)
    landed = Run.objects.filter(pk=run_id, status=RunStatus.RUNNING.value).update(
        stop_asked_at=Coalesce(F("stop_asked_at"), timezone.now()),
        stop_asked_by=actor.split(":", 1)[-1][:80],
        stop_reason=reason.value if held or reason in (Reason.SUPERSEDED, Reason.BY_HAND) else RELEASED,
    )
    if landed:
        append_event(run, EventKind.RUN_STOPPING, actor=actor, data={"by": actor})
        transaction.on_commit(partial(wake.run, run_id), robust=True)
    return bool(landed)


@transaction.atomic
def report(run_id: str, fence: int, value: dict[str, Any] | None) -> None:
    """Keep what the agent says of its own task; it takes effect when the run ends. Raises `LeaseLost`."""
    run = get(run_id)
    events.lock(run.team_id)
    guard(run_id, fence, report=None if value is None else mask_json(clean_json(value)))
    append_event(
        run,
        EventKind.NOTE,
        actor=f"agent:{run.agent.name}",
        data={"text": f"reports: {(value or {}).get('status', 'in progress')}"},
    )


def approve_plan(run_id: str) -> None:
    """The lead approved the plan: plan mode is over for this attempt, in this life and every later one."""
    Run.objects.filter(pk=run_id).update(plan_approved=True)


def count_death(run_id: str, fence: int, *, overflowed: bool) -> None:
    """The process of the run died; what its agent does from now on sets `crashes` back to 0. Raises `LeaseLost`.

    `overflowed`: it had to be ended because it said more in one line than can be read.
    """
    counted = {name: F(name) + 1 for name in ("crashes", "deaths", "handoffs")}
    guard(run_id, fence, **counted, **({"overflowed": True} if overflowed else {}))


@transaction.atomic
def count_fault(run_id: str, fence: int) -> int:
    """Our own storing failed this life, not the agent; returns how many lives of the attempt ended badly. Raises `LeaseLost`."""
    guard(run_id, fence, deaths=F("deaths") + 1)
    return get(run_id).deaths


def note_session(run_id: str, fence: int, session_id: str) -> None:
    """Remember the session. Raises `LeaseLost`."""
    guard(run_id, fence, session_id=session_id)


def forget_sessions(session_ids: Collection[str]) -> None:
    """The transcripts of these sessions are gone."""
    Run.objects.filter(session_id__in=session_ids).update(started_session=False)


def forget_files(run_id: str) -> None:
    """No snapshot is named by this attempt any more: nobody goes back to its files."""
    found = Run.objects.only("dossier").get(pk=run_id)
    dossier = {name: value for name, value in found.dossier.items() if name != snapshots.END}
    Run.objects.filter(pk=run_id).update(workspace_commit="", dossier={**dossier, "files_gone": True})


def note_process(run_id: str, fence: int, pid: int) -> None:
    """Remember the process group that works for the run, 0 once it is seen gone. Raises `LeaseLost`."""
    guard(run_id, fence, pid=pid)
