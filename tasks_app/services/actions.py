"""What the lead does: each action is one call that composes the services below and schedules what follows from it."""

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from tasks_app.domain import planning
from tasks_app.domain.deciders import Settings
from tasks_app.domain.errors import Conflict, Invalid, TooLarge
from tasks_app.domain.plan_model import Plan
from tasks_app.domain.statuses import AgentStatus, Reason, RunStatus, TaskStatus, TeamStatus
from tasks_app.models import Decision, Run, Task, Team
from tasks_app.services import (
    agents,
    checkpoints,
    deciding,
    decisions,
    deliveries,
    drafts,
    events,
    expiry,
    idempotency,
    judges,
    overruns,
    planned,
    proofs,
    reviews,
    runs,
    scheduling,
    task_edits,
    tasks,
    teams,
    workspaces,
)
from tasks_app.services.task_edits import GUIDANCE_LIMIT
from tasks_app.services.tasks import Draft
from tasks_app.services.teams import Source

STARTS = ("clean", "last")
ENDED_WORD = {RunStatus.COMPLETED: "it was completed", RunStatus.FAILED: "it failed", RunStatus.KILLED: "it was stopped"}


def start_team(
    plan: Plan, *, source: Source, user_id: int | None, rehearsal: bool, actor: str, idempotency_key: str = ""
) -> Team:
    """Prepare the workspace, make the team with everything in its plan, and let it begin. All or nothing.

    Its first tasks are given out in the transaction that makes it: whoever sees it sees them given out.
    """
    if known := idempotency.made(idempotency_key):
        return teams.get(int(known))
    judges.must_exist(plan)
    if plan.limits.sandbox:
        workspaces.must_isolate()
    slug = teams.reserve_slug(plan, taken=workspaces.taken())
    space = plan.workspace
    workspace = workspaces.prepare(slug, source=space.path, mode=space.mode, ref=space.ref, base=source.base, scratch=rehearsal)

    def make() -> Team:
        made = teams.create(
            plan, slug=slug, source=source, workspace=workspace, user_id=user_id, rehearsal=rehearsal, actor=actor
        )
        planned.fill(made, plan, actor=actor)
        scheduling.give_out(made.pk)
        return made

    try:
        team = idempotency.once(idempotency_key, lambda known: teams.get(int(known)), make)
    finally:
        teams.drop_folder_of_none(slug)
    return Team.objects.get(pk=team.pk)


def answer(
    decision_id: str,
    *,
    choice: str,
    note: str = "",
    data: Mapping[str, Any] | None = None,
    version: int,
    payload_hash: str,
    actor: str,
) -> Decision:
    """Answer a decision and carry out what follows from it, in one transaction."""
    with transaction.atomic():
        decision = decisions.answer(
            decision_id, choice=choice, note=note, data=data, version=version, payload_hash=payload_hash, actor=actor
        )
        if decision.run_id and planning.approves(decision.kind, decision.payload, decision.choice, decision.answer):
            runs.approve_plan(decision.run_id)
        scheduling.apply_answer(decision, actor=actor)
    scheduling.tick(decision.team_id)
    return decision


def snooze(decision_id: str, *, minutes: int, actor: str) -> None:
    """Quiet a decision's reminders for a while."""
    expiry.snooze(decision_id, minutes=minutes, actor=actor)


def look(decision_id: str, *, actor: str) -> None:
    """Tell the others that somebody looks at a decision."""
    expiry.look(decision_id, actor=actor)


def start_task(task_id: int, *, agent_id: int, actor: str) -> Run:
    """Give a ready task to an agent now. Raises `Blocked`, `AlreadyClaimed` or `Conflict`, each naming why; also for a budget."""
    with transaction.atomic():
        overruns.must_not_hold(events.lock(tasks.get(task_id).team_id))
        run = runs.claim_task(task_id, agent_id=agent_id, actor=actor)
        decisions.withdraw_all(why="the task was started", actor=actor, task_id=task_id)
        return run


def reassign(
    task_id: int, *, agent_id: int | None, guidance: str = "", start: str = "clean", actor: str, idempotency_key: str = ""
) -> Task:
    """Give an unfinished task to an agent (None: any suitable one), with guidance. A running attempt is stopped first."""
    if start not in STARTS:
        raise Invalid("Start from `clean` or from the `last` attempt.", field="start")
    if len(guidance) > GUIDANCE_LIMIT:
        raise TooLarge(f"The guidance is longer than {GUIDANCE_LIMIT:,} characters.", field="guidance")
    with transaction.atomic():
        if not idempotency.is_first(idempotency_key, makes=task_id):
            return tasks.get(task_id)
        task = _locked(task_id)
        if agent_id is not None:
            agents.for_work(agent_id, task.team_id)
        task = _out_of_review(task, actor=actor)
        if task.status == TaskStatus.IN_PROGRESS.value:
            deliveries.stop_open_run(task, actor=actor, reason=Reason.SUPERSEDED, held=False)
            tasks.plan_next(task, agent_id=agent_id, guidance=guidance, start=start, actor=actor)
        else:
            more = task.attempts >= task.attempts_allowed
            tasks.mark_ready_again(task, agent_id=agent_id, guidance=guidance, start=start, actor=actor, extra_attempt=more)
            decisions.withdraw_all(why="the task was reassigned", actor=actor, task_id=task_id)
    scheduling.tick(task.team_id)
    return tasks.get(task_id)


def _out_of_review(task: Task, *, actor: str) -> Task:
    """A task in progress that no run works on goes back to the queue: its reviews are over."""
    if task.status != TaskStatus.IN_PROGRESS.value or Run.objects.filter(task=task, status__in=runs.OPEN).exists():
        return task
    _end_reviews(task, why="its task is done again", actor=actor)
    reason, why = Reason.SUPERSEDED.value, "given out again"
    tasks.mark_released(
        task, failed=False, held=False, counts=False, reason=reason, detail=why, attempt=task.attempts, actor=actor
    )
    return tasks.get(task.pk)


def _end_reviews(task: Task, *, why: str, actor: str) -> None:
    for review in reviews.open_of(task.pk):
        tasks.mark_cancelled(review, why=why, actor=actor)
        deliveries.stop_open_run(review, actor=actor, reason=Reason.STOPPED, held=True)


def _locked(task_id: int) -> Task:
    """The task as it is now, and stays until the commit."""
    events.lock(tasks.get(task_id).team_id)
    return tasks.get(task_id)


def retry(task_id: int, *, guidance: str = "", start: str = "last", actor: str) -> Task:
    """Let the agent of the last attempt, or its role, try again."""
    last = Run.objects.filter(task_id=task_id).order_by("-attempt").first()
    return reassign(task_id, agent_id=last.agent_id if last else None, guidance=guidance, start=start, actor=actor)


def stop_run(run_id: str, *, actor: str) -> None:
    """Stop a run, or ask again; "stopped" is written when its process is gone. Raises `Conflict` for an ended one."""
    with transaction.atomic():
        events.lock(runs.get(run_id).team_id)
        run = runs.get(run_id)
        if run.status not in runs.OPEN:
            raise Conflict(f"This attempt has ended already: {ENDED_WORD[RunStatus(run.status)]}.")
        deliveries.stop_open_run(run.task, actor=actor, reason=Reason.STOPPED, held=True)


def cancel(task_id: int, *, why: str = "", actor: str) -> None:
    """Give a task up; a running attempt is stopped."""
    with transaction.atomic():
        task = _locked(task_id)
        tasks.mark_cancelled(task, why=why, actor=actor)
        reviews.given_up(task, actor=actor)
        _end_reviews(task, why="its task was cancelled", actor=actor)
        deliveries.stop_open_run(task, actor=actor, reason=Reason.STOPPED, held=True)
        decisions.withdraw_all(why="the task was cancelled", actor=actor, task_id=task_id)
    scheduling.tick(task.team_id)


def complete_by_hand(task_id: int, *, note: str = "", actor: str) -> None:
    """The lead has done it, or takes it as done. Refused while a dependency is open."""
    by = actor.split(":", 1)[-1]
    with transaction.atomic():
        task = _locked(task_id)
        tasks.must_not_be_blocked(task)
        evidence = {"by hand": note or f"completed by {by}", **proofs.overridden(task)}
        if not tasks.mark_completed(task, by=by, evidence=evidence, output=note, actor=actor):
            raise Conflict(f"{task.label} is {task.status.replace('_', ' ')} already.")
        if task.review_of_id:
            reviews.settle(task, verdict=reviews.ACCEPT, note=note, by=by)
        _end_reviews(task, why="its task was completed by hand", actor=actor)
        deliveries.stop_open_run(task, actor=actor, reason=Reason.BY_HAND, held=False)
        decisions.withdraw_all(why="the task was completed by hand", actor=actor, task_id=task_id)
    scheduling.tick(task.team_id)


def reopen(task_id: int, *, why: str, actor: str) -> None:
    """Let a finished task be done again, with the lead's words as guidance."""
    with transaction.atomic():
        task = _locked(task_id)
        tasks.mark_reopened(task, why=why, actor=actor)
        teams.work_again(task.team_id)
    scheduling.tick(task.team_id)


def add_task(team_id: int, draft: Draft, *, actor: str, idempotency_key: str = "") -> Task:
    """Add a task to a running team. Raises `Invalid` or `TooLarge` that names the field."""

    def make() -> Task:
        drafts.check(team_id, draft)
        task = tasks.create(team_id, draft, actor=actor)
        teams.work_again(team_id)
        return task

    task = idempotency.once(idempotency_key, lambda known: tasks.get(int(known)), make)
    scheduling.tick(team_id)
    return task


def edit_task(task_id: int, given: Mapping[str, Any], *, actor: str) -> Task:
    """Change what a task that waits says; who may take it may have changed with it."""
    task = task_edits.change(task_id, given, actor=actor)
    scheduling.tick(task.team_id)
    return task


def unblock(task_id: int, *, needs: int, actor: str) -> None:
    """Let a task no longer wait for another one; it may start at once."""
    task_edits.remove_dependency(task_id, needs=needs, actor=actor)
    scheduling.tick(tasks.get(task_id).team_id)


def pause_team(team_id: int, *, actor: str) -> None:
    """Nothing new starts; what runs goes on."""
    teams.set_status(team_id, status=TeamStatus.PAUSED, actor=actor)
    checkpoints.at_boundary(team_id, name="paused by the lead", always=True)


def resume_team(team_id: int, *, actor: str) -> None:
    """Work goes on, also after a stop: then by new attempts, from the files as they are."""
    teams.set_status(team_id, status=TeamStatus.ACTIVE, actor=actor)
    scheduling.tick(team_id)


def stop_team(team_id: int, *, actor: str) -> int:
    """Stop every run of the team; returns how many there were. Their tasks go back to the queue."""
    with transaction.atomic():
        teams.set_status(team_id, status=TeamStatus.STOPPED, actor=actor)
        open_runs = list(Run.objects.select_related("task").filter(team_id=team_id, status__in=runs.OPEN))
        for run in open_runs:
            deliveries.stop_open_run(run.task, actor=actor, reason=Reason.STOPPED, held=False)
        decisions.withdraw_all(why="the team was stopped", actor=actor, team_id=team_id)
    return len(open_runs)


TEAM_ACTS: Mapping[str, Callable[..., object]] = {
    "pause": pause_team,
    "resume": resume_team,
    "stop": stop_team,
    "archive": teams.archive,
    "restore": teams.restore,
}
"""What the lead can do with a team as a whole, by the word of the API and the terminal; each takes (team_id, actor=…)."""


def set_deciders(team_id: int, given: Mapping[str, Any], *, actor: str) -> Settings:
    """Change who decides what; what is not the lead agent's any more is the human's at once. Raises `Invalid`."""
    wanted = deciding.set_settings(team_id, given, actor=actor)
    scheduling.tick(team_id)
    return wanted


def stop_agent(agent_id: int, *, actor: str) -> None:
    """The agent takes no task and no prompt; its run is stopped and its task goes back to the queue."""
    with transaction.atomic():
        agents.set_status(agent_id, status=AgentStatus.STOPPED, actor=actor)
        run = Run.objects.select_related("task").filter(agent_id=agent_id, status__in=runs.OPEN).first()
        if run is not None:
            deliveries.stop_open_run(run.task, actor=actor, reason=Reason.STOPPED, held=False)
    scheduling.tick(agents.get(agent_id).team_id)


def resume_agent(agent_id: int, *, actor: str) -> None:
    """The agent may be given work again."""
    agents.set_status(agent_id, status=AgentStatus.ACTIVE, actor=actor)
    scheduling.tick(agents.get(agent_id).team_id)
