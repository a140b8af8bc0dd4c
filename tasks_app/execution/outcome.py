"""Turns the outcome of a runner into states: what becomes of the run, of its decisions and of its task."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from django.db import transaction

from tasks_app.domain import retry
from tasks_app.domain.leases import CRASHES, DEATHS
from tasks_app.domain.statuses import Reason, RunStatus
from tasks_app.execution import db, dossier
from tasks_app.runners.port import Outcome, OutcomeKind
from tasks_app.services import (
    agents,
    claims,
    clock,
    completions,
    decisions,
    deliveries,
    endings,
    events,
    overruns,
    runs,
    scheduling,
)
from tasks_app.services.endings import Ending
from tasks_app.services.runs import Held

logger = logging.getLogger(__name__)
Write = Callable[[], None]


@dataclass(frozen=True)
class Here:
    """The worker that drives a life. What begins after it may follow in its place, while the machine `has_room`."""

    worker: str
    host: str
    has_room: Callable[[], bool]
    tried: dict[str, Held] = field(default_factory=dict)  # what a try has claimed for this place: its commit may be done


@dataclass(frozen=True)
class Settled:
    """What follows the end of a life: this run goes on at once (the report is asked for), or another one in its place."""

    again: bool = False
    following: Held | None = None  # claimed already


def settle(
    held: Held, outcome: Outcome, *, leaving_for: Reason | None, here: Here | None = None, may_ask: bool = False
) -> Settled:
    """Write what came of this life; returns what follows. `may_ask`: the agent was not asked for its report yet.

    What the files say is found first, for git takes its time. Then all of it is one transaction under the team's lock, and with
    it what may begin now, the first of that claimed for its place `here`: each time that the lock is taken costs a wait for it.
    Where somebody has asked meanwhile that it stop, or for another reason than before, what is to be written is found once more.
    """
    if outcome.kind is OutcomeKind.LOST:
        return Settled()
    while True:
        run = runs.get(held.id)
        if may_ask and _owes_report(run, outcome):
            runs.guard(held.id, held.fence, asked_to_report=True)
            return Settled(again=True)
        write = _what(run, held, outcome, leaving_for)
        with transaction.atomic():
            events.lock(held.team_id)
            if _asked(runs.get(held.id)) == _asked(run):
                write()
                return Settled(following=_following(held, here))


def _asked(run: Any) -> tuple[Any, ...]:
    """Who asks that the run stop, and what for: asked again, `stop_asked_at` stays."""
    return run.stop_asked_at, run.stop_reason, run.stop_asked_by


def _following(held: Held, here: Here | None) -> Held | None:
    """Give out what may begin now; returns what follows in the place of this life.

    A fault in there is logged: it undoes nothing of this life, and a sweep ticks again.
    """
    place = here if here is not None and here.has_room() else None
    try:
        with transaction.atomic():
            began = scheduling.give_out(held.team_id, keep=place is not None)
            if not began or place is None:
                return None
            claimed = claims.follow(began[0], team_id=held.team_id, worker=place.worker, host=place.host)
            if claimed is not None:
                place.tried[claimed.id] = claimed
            return claimed
    except Exception as error:
        if db.is_away(error):
            raise  # all of it is tried again
        logger.exception("run %s: what may begin after it could not be given out", held.id)
        return None


def _owes_report(run: Any, outcome: Outcome) -> bool:
    """Whether the agent ended its turn without a word on its task."""
    ended = outcome.kind is OutcomeKind.ENDED and run.stop_reason != Reason.BY_HAND.value
    return ended and (run.report or {}).get("status") not in ("completed", "pending")


def _what(run: Any, held: Held, outcome: Outcome, leaving_for: Reason | None) -> Write:
    """Return what is to be written of a life that has ended."""
    if completions.is_reported(run) and _is_last(run, outcome, leaving_for):
        return _completed(run, held, outcome)
    if outcome.kind is OutcomeKind.STOPPED or run.stop_asked_at is not None:
        # a person was first, unless the task was done; and a process that parked or failed while it was being stopped is gone
        return _stopped(run, held)
    if outcome.kind is OutcomeKind.ENDED:
        return _unfinished(run, held, outcome)
    if outcome.kind is OutcomeKind.PARKED:
        return _parked(run, held, outcome, leaving_for)
    return _failed(run, held, outcome)


def _is_last(run: Any, outcome: Outcome, leaving_for: Reason | None) -> bool:
    """Whether this life ends the attempt where its task was reported as completed: also when a limit or an error has ended it.

    Not where a person stopped it before its turn was over. One that waits for the lead, or whose worker leaves, has a next life.
    Nor where so many lives could not be stored: then that can never be.
    """
    if outcome.kind is OutcomeKind.ENDED:
        return True
    over = outcome.kind is OutcomeKind.FAILED or (outcome.kind is OutcomeKind.PARKED and leaving_for is not None)
    return over and run.stop_asked_at is None and run.deaths < DEATHS


def _completed(run: Any, held: Held, outcome: Outcome) -> Write:
    found, untold = dossier.of_completed(run), deliveries.is_untold(run)
    fresh = outcome.kind is not OutcomeKind.ENDED
    return partial(completions.complete, run, held.fence, result=outcome.result, dossier=found, untold=untold, fresh=fresh)


def _unfinished(run: Any, held: Held, outcome: Outcome) -> Write:
    report = run.report or {}
    if report.get("status") == "pending":
        return _fail(run, held, Reason.REPORTED, str(report.get("failure") or "The agent gave the task back."), outcome)
    return _fail(run, held, Reason.UNREPORTED, "The agent ended twice without reporting on its task.", outcome)


def _parked(run: Any, held: Held, outcome: Outcome, leaving_for: Reason | None) -> Write:
    if leaving_for is Reason.TIME_LIMIT:
        return _fail(run, held, Reason.TIME_LIMIT, "The attempt has worked longer than the team's time limit.", outcome)
    if leaving_for is Reason.BUDGET:
        return partial(overruns.park, held.id, held.fence, ask_anyway=outcome.reason is Reason.BUDGET)
    return partial(_park, held)


def _park(held: Held) -> None:
    waits = decisions.has_open(held.id)
    runs.park(held.id, held.fence, reason=Reason.PARKED if waits else Reason.INTERRUPTED, interrupted=not waits)


def _stopped(run: Any, held: Held) -> Write:
    ending = endings.stopped_as_asked(run)
    found = dossier.make(run, reason=ending.reason, error=ending.detail)
    known = replace(ending, dossier=found, untold=deliveries.is_untold(run))
    return partial(_end, held, known, why="its run was stopped")


def _failed(run: Any, held: Held, outcome: Outcome) -> Write:
    if outcome.reason is Reason.BUDGET and not run.budget_waived:
        return _parked(run, held, outcome, Reason.BUDGET)
    if outcome.broken and outcome.reason is Reason.START_FAILED:
        outcome = replace(outcome, detail=f"On {run.host}: {outcome.detail}")
    parking = partial(runs.park, held.id, held.fence, reason=outcome.reason, detail=outcome.detail, interrupted=True)
    if retry.is_transient(outcome.reason) and (again := _retry_at(run, outcome)) is not None:
        return partial(parking, retry_at=again)
    if outcome.broken and _another_life_may_help(run, outcome):
        failed = run.crashes + 1 if outcome.reason is Reason.START_FAILED else 0
        parking = partial(parking, pause_s=retry.start_pause_s(failed))
        return partial(_die, held, parking, overflowed=outcome.reason is Reason.OUTPUT_TOO_LARGE)
    return _fail(run, held, outcome.reason, outcome.detail, outcome)


def _die(held: Held, parking: Write, *, overflowed: bool) -> None:
    runs.count_death(held.id, held.fence, overflowed=overflowed)
    parking()


def _another_life_may_help(run: Any, outcome: Outcome) -> bool:
    """Not where nothing was done in between, where it died too often, or where a line was too long a second time."""
    again_too_long = outcome.reason is Reason.OUTPUT_TOO_LARGE and run.overflowed
    return not again_too_long and run.crashes + 1 < CRASHES and run.deaths + 1 < DEATHS


def _retry_at(run: Any, outcome: Outcome) -> float | None:
    """Unix seconds of the next try, never before the API says; None when it was tried often enough."""
    at = retry.not_before(clock.now(), retries=run.retries + 1, seed=run.pk, resets_at=outcome.retry_at)
    return at.timestamp() if at else None


def _fail(run: Any, held: Held, reason: Reason, detail: str, outcome: Outcome) -> Write:
    found, untold = dossier.make(run, reason=reason, error=detail), deliveries.is_untold(run)
    counts = retry.counts(reason)
    ending = Ending(RunStatus.FAILED, reason, detail, outcome.raw, outcome.result, counts=counts, dossier=found, untold=untold)
    return partial(_give_up, held, ending)


def _give_up(held: Held, ending: Ending) -> None:
    agents.forget_session(held.agent_id)
    _end(held, ending, why="its run failed")


def _end(held: Held, ending: Ending, *, why: str) -> None:
    deliveries.end(held.id, held.fence, ending, why=why)
