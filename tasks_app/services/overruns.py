"""Overruns: a budget that is used up stops what spends it; the lead is asked once for each budget, however many runs hit it."""

from collections.abc import Sequence

from django.db import transaction

from tasks_app.decision_kinds.budget import SHARED, title
from tasks_app.domain.budget import Level
from tasks_app.domain.errors import Conflict
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, Reason, RunStatus, TeamStatus
from tasks_app.models import Decision, Run, Task, Team
from tasks_app.services import budgets, decisions, endings, events, grants, runs, teams


@transaction.atomic
def park(run_id: str, fence: int, *, ask_anyway: bool) -> None:
    """Park a run that was stopped for its budget and ask the lead, or let it wait for what another run has asked already.

    Where the limit was raised meanwhile it goes on at once, unless `ask_anyway`: its process says itself that it may not. That
    is not asked where it has only spent what it was granted, and there is more (`grants`). Raises `LeaseLost`.
    """
    run = runs.get(run_id)
    events.lock(run.team_id)
    reading = budgets.read(run_id)
    if ask_anyway and reading.level is not Level.USED_UP and grants.is_spent(run):
        runs.park(run_id, fence, reason=Reason.SHARE_SPENT, pause_s=grants.pause_s(run), interrupted=True)
        return
    if ask_anyway or reading.level is Level.USED_UP:
        asked = _asked(run, reading)
        if asked is not None and asked.run_id != run_id:
            runs.join(run_id, asked.pk)
    budgets.rearm(run_id)
    runs.park(run_id, fence, reason=Reason.BUDGET, interrupted=True)


def _asked(run: Run, reading: budgets.Reading) -> Decision | None:
    shared = _shared(reading.scope)
    known = _open_shared(run.team_id, shared)
    payload = budgets.payload(run.pk, reading)
    return known or decisions.open_by_system(kind=DecisionKind.BUDGET, task=run.task, run=run, payload=payload, shared=shared)


def _shared(scope: str) -> str:
    return scope if scope in SHARED else ""


def _open_shared(team_id: int, shared: str) -> Decision | None:
    return Decision.objects.filter(team_id=team_id, shared=shared, status=DecisionStatus.OPEN.value).first() if shared else None


def holds(team: Team, ready: Sequence[Task]) -> bool:
    """Whether nothing new may start because a budget that all share is used up; then the lead is asked, once."""
    if not ready:
        return False
    reading = budgets.read_shared(team)
    if reading.level is not Level.USED_UP:
        return False
    if _open_shared(team.pk, reading.scope) is None:
        payload = budgets.payload("", reading)
        decisions.open_by_system(kind=DecisionKind.BUDGET, task=ready[0], run=None, payload=payload, shared=reading.scope)
    return True


def must_not_hold(team: Team) -> None:
    """Raise `Conflict` where a budget that all share is used up, so that nothing new may start, not by hand either."""
    reading = budgets.read_shared(team)
    if reading.level is Level.USED_UP:
        raise Conflict(f"{title({'scope': reading.scope}, '')}: no task starts until it is raised.", field="budget")


def apply_answer(decision: Decision, *, actor: str) -> None:
    """Do what the lead chose with every run that waits for it. Stopping at a shared budget pauses the team as well."""
    waiting = list(Run.objects.select_related("team").filter(pk__in=decisions.waiting_runs(decision)))
    scope = str(decision.payload.get("scope"))
    if decision.choice == "raise":
        budgets.raise_by(
            scope,
            team_id=decision.team_id,
            task_id=decision.task_id,
            run_id=decision.run_id,
            usd=decision.answer.get("usd"),
            tokens=decision.answer.get("tokens"),
            actor=actor,
        )
    elif decision.choice == "smaller_model":
        for run in waiting:
            budgets.use_smaller_model(run, actor=actor)
    else:
        ending = endings.Ending(RunStatus.FAILED, Reason.BUDGET, "The lead ended it for its budget.")
        for run in waiting:
            endings.end_pending(run.pk, ending, actor=actor)
        if _shared(scope) and Team.objects.filter(pk=decision.team_id, status=TeamStatus.ACTIVE.value).exists():
            teams.set_status(decision.team_id, status=TeamStatus.PAUSED, actor=actor)
