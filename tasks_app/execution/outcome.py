"""Turns the outcome of a runner into states: what becomes of the run, of its decisions and of its task."""

from dataclasses import dataclass, replace
from typing import Any

from tasks_app.domain import retry
from tasks_app.domain.leases import CRASHES, DEATHS
from tasks_app.domain.statuses import Reason, RunStatus
from tasks_app.domain.text import cut, one_line
from tasks_app.execution import dossier
from tasks_app.runners.port import Outcome, OutcomeKind
from tasks_app.services import agents, checkpoints, clock, decisions, deliveries, endings, overruns, runs, scheduling, snapshots
from tasks_app.services.endings import Ending
from tasks_app.services.runs import Held

HANDOVER_LIMIT = 4_000
"""Characters of what a fresh session is told of the agent's finished tasks."""


@dataclass(frozen=True)
class Settled:
    """What follows the end of a life: the same worker drives on at once (the report is asked for), or new runs may begin."""

    again: bool = False
    begins: tuple[str, ...] = ()  # their ids; nobody was nudged for the first: there is a place for it here


def settle(held: Held, outcome: Outcome, *, leaving_for: Reason | None) -> Settled:
    """Write what came of this life; returns what follows."""
    if outcome.kind is OutcomeKind.LOST:
        return Settled()
    if outcome.kind is OutcomeKind.ENDED:
        return _ended(held, outcome)
    stop_asked = runs.get(held.id).stop_asked_at is not None
    if outcome.kind is OutcomeKind.STOPPED or stop_asked:
        _stopped(held)  # a process that parked or failed while it was being stopped is gone as well
    elif outcome.kind is OutcomeKind.PARKED:
        _parked(held, outcome, leaving_for)
    else:
        _failed(held, outcome)
    return _tick(held)


def _tick(held: Held) -> Settled:
    return Settled(begins=tuple(scheduling.tick(held.team_id, keep=True)))


def _ended(held: Held, outcome: Outcome) -> Settled:
    run = runs.get(held.id)
    report = run.report or {}
    if run.stop_reason == Reason.BY_HAND.value:
        _stopped(held)  # a person was first: whatever it reported, the task is not completed a second time
    elif report.get("status") == "completed":
        found = dossier.of_completed(held.id)
        _end(held, Ending(RunStatus.COMPLETED, Reason.DONE, result=outcome.result, dossier=found), why="its run ended")
        _hand_over(held, str(report.get("summary") or outcome.result))
        name = f"after {run.task.label} {run.task.title}"
        checkpoints.at_boundary(held.team_id, name=name, workspace=str(found[snapshots.END]))
    elif report.get("status") == "pending":
        _fail(held, Reason.REPORTED, str(report.get("failure") or "The agent gave the task back."), outcome)
    elif not run.asked_to_report:
        runs.guard(held.id, held.fence, asked_to_report=True)
        return Settled(again=True)
    else:
        _fail(held, Reason.UNREPORTED, "The agent ended twice without reporting on its task.", outcome)
    return _tick(held)


def _hand_over(held: Held, summary: str) -> None:
    """The agent's next task goes on in this session, or, when it is full, in a fresh one that is told what was done."""
    run = runs.get(held.id)
    done = f"- {run.task.label} {run.task.title}: {cut(summary, HANDOVER_LIMIT // 4)}"
    earlier = run.agent.handover.splitlines()[-6:]
    agents.set_session(
        held.agent_id, session_id=run.session_id, handover=cut("\n".join([*earlier, one_line(done, 1000)]), HANDOVER_LIMIT)
    )


def _parked(held: Held, outcome: Outcome, leaving_for: Reason | None) -> None:
    if leaving_for is Reason.TIME_LIMIT:
        _fail(held, Reason.TIME_LIMIT, "The attempt has worked longer than the team's time limit.", outcome)
        return
    if leaving_for is Reason.BUDGET:
        overruns.park(held.id, held.fence, ask_anyway=outcome.reason is Reason.BUDGET)
        return
    waits = decisions.has_open(held.id)
    runs.park(held.id, held.fence, reason=Reason.PARKED if waits else Reason.INTERRUPTED, interrupted=not waits)


def _stopped(held: Held) -> None:
    run = runs.get(held.id)
    ending = endings.stopped_as_asked(run)
    found = dossier.make(held.id, reason=ending.reason, error=ending.detail)
    _end(held, replace(ending, dossier=found), why="its run was stopped")


def _failed(held: Held, outcome: Outcome) -> None:
    run = runs.get(held.id)
    if outcome.reason is Reason.BUDGET and not run.budget_waived:
        _parked(held, outcome, Reason.BUDGET)
    elif retry.is_transient(outcome.reason) and (again := _retry_at(run, outcome)) is not None:
        runs.park(
            held.id,
            held.fence,
            reason=outcome.reason,
            detail=outcome.detail,
            retry_at=again,
            interrupted=True,
        )
    elif outcome.broken and _another_life_may_help(run, outcome):
        runs.count_death(held.id, held.fence, overflowed=outcome.reason is Reason.OUTPUT_TOO_LARGE)
        runs.park(held.id, held.fence, reason=outcome.reason, detail=outcome.detail, interrupted=True)
    else:
        _fail(held, outcome.reason, outcome.detail, outcome)


def _another_life_may_help(run: Any, outcome: Outcome) -> bool:
    """Not where nothing was done in between, where it died too often, or where a line was too long a second time [N35]."""
    again_too_long = outcome.reason is Reason.OUTPUT_TOO_LARGE and run.overflowed
    return not again_too_long and run.crashes + 1 < CRASHES and run.deaths + 1 < DEATHS


def _retry_at(run: Any, outcome: Outcome) -> float | None:
    """Unix seconds of the next try, never before the API says; None when it was tried often enough."""
    at = retry.not_before(clock.now(), retries=run.retries + 1, seed=run.pk, resets_at=outcome.retry_at)
    return at.timestamp() if at else None


def _fail(held: Held, reason: Reason, detail: str, outcome: Outcome) -> None:
    found = dossier.make(held.id, reason=reason, error=detail)
    agents.forget_session(held.agent_id)
    counts = retry.counts(reason, steps=runs.get(held.id).last_seq)
    ending = Ending(RunStatus.FAILED, reason, detail, outcome.raw, outcome.result, counts=counts, dossier=found)
    _end(held, ending, why="its run failed")


def _end(held: Held, ending: Ending, *, why: str) -> None:
    deliveries.end(held.id, held.fence, ending, why=why)
