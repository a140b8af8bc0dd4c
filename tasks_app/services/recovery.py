"""Recovery: gives work back to the queue when its worker is gone. It never runs work itself; every worker may call it."""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import F, Max

from tasks_app import wake
from tasks_app.domain.events import EventKind
from tasks_app.domain.leases import CRASHES, NEVER, RENUDGE_S
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, Reason, RunStatus, TeamStatus
from tasks_app.domain.transitions import GIVE_BACK_RUN
from tasks_app.models import Decision, Event, Run, Team
from tasks_app.models.teams import LARGE_OF_TEAM
from tasks_app.selectors import workers as reading
from tasks_app.services import (
    agents,
    completions,
    context,
    decisions,
    deliveries,
    endings,
    events,
    expiry,
    handing,
    keys,
    runs,
    scheduling,
    usage,
    workers,
)
from tasks_app.services.clock import DatabaseNow, now, now_s

logger = logging.getLogger(__name__)
LATE_S = 5.0
"""So long after its end a lease is looked after by the workers of its host, where there are any; then by all."""
STALL_MINUTES = 15.0
"""A running run that has done nothing for so long is shown as stalled, unless the team's limits say otherwise."""


@dataclass(frozen=True)
class Lost:
    """A life whose worker is gone; `worker` is empty where that may live and has let the lease run out."""

    run_id: str
    fence: int
    worker: str


def nobody_looks(lost: Sequence[Lost]) -> Collection[str]:
    """Say of no run that something of it survives."""
    return ()


def take_back_expired() -> int:
    """Runs whose lease ran out go back to the queue; returns how many.

    Those of a host that has a worker are left to that for a moment: it sees to it that their processes are gone.
    """
    expired = Run.objects.filter(status=RunStatus.RUNNING.value, lease_until__lt=DatabaseNow())
    found = list(expired.values_list("pk", "fence", "host", DatabaseNow() - F("lease_until")))
    hosts = {worker.host for worker in reading.alive()} if found else set()
    due = [(pk, fence) for pk, fence, host, late_s in found if host not in hosts or late_s > LATE_S]
    return sum(_take_back(pk, fence, check_lease=True) for pk, fence in due)


def take_back_from_dead(host: str, *, alive: str, end: Callable[[Sequence[Lost]], Collection[str]] = nobody_looks) -> int:
    """Take back at once what dead workers of this host held, and what let its lease run out here; returns how many.

    `end` ends what is left of these lives on this host, before others go on beside it, and returns the runs of which something
    survives: of these nobody says yet that they have ended.
    """
    _cut_off(host)
    gone = workers.gone_from(host, alive=alive)
    held = Run.objects.filter(host=host, status=RunStatus.RUNNING.value, worker__in=gone).values_list("pk", "fence", "worker")
    lost = [Lost(*life) for life in held]
    left = end(lost) if lost else ()
    return sum(_take_back(one.run_id, one.fence, check_lease=False, ends=one.run_id not in left) for one in lost)


def _cut_off(host: str) -> None:
    """Nobody renews a lease of this host's any more that has run out: a worker that was only frozen could, in this moment."""
    expired = Run.objects.filter(host=host, status=RunStatus.RUNNING.value, lease_until__lt=DatabaseNow()).exclude(worker="")
    for pk in list(expired.values_list("pk", flat=True)):
        expired.filter(pk=pk).update(worker="")


@transaction.atomic
def _take_back(run_id: str, fence: int, *, check_lease: bool, ends: bool = True) -> bool:
    events.lock(runs.get(run_id).team_id)
    run = runs.get(run_id)  # as it is now: while this waited, somebody may have asked that it stop
    mine = Run.objects.filter(pk=run_id, fence=fence, status=RunStatus.RUNNING.value)
    if check_lease:
        mine = mine.filter(lease_until__lt=DatabaseNow())
    if not mine.exists():
        return False
    if (ending := _ending(run)) is not None:
        if ends:
            _end(run, fence, ending)
        return ends
    waits = decisions.mark_parked_for_lost(run_id)
    mine.update(
        status=GIVE_BACK_RUN.target,
        due_at=NEVER if waits else now_s(),
        nudged_at=now_s(),
        lease_until=0,
        reason=Reason.WORKER_LOST.value,
        interrupted=True,
        crashes=F("crashes") + 1,
        handoffs=F("handoffs") + 1,
    )
    usage.note_unreported_cost(run)
    agents.now(run.agent_id, "")
    kind = EventKind.RUN_PARKED if waits else EventKind.RUN_RESUMABLE
    runs.append_event(run, kind, data={"reason": Reason.WORKER_LOST.value, "fence": fence}, more=(keys.inbox(run.team_id),))
    if not waits:
        transaction.on_commit(partial(wake.nudge, run_id), robust=True)
    return True


def _ending(run: Run) -> endings.Ending | None:
    """How a run ends that has lost its worker; None: it goes on."""
    if run.stop_asked_at:
        words = f"Stopped by {run.stop_asked_by}; its worker was lost before it could say so."
        return endings.stopped_as_asked(run, detail=words)
    if run.crashes + 1 >= CRASHES:
        words = f"The worker was lost {CRASHES} times in a row without one new step."
        return endings.Ending(RunStatus.FAILED, Reason.CRASHED, words)
    return None


def _end(run: Run, fence: int, ending: endings.Ending) -> None:
    """What was reported is completed where another life would be lost as well, without its files: nothing here waits for git."""
    try:
        with transaction.atomic():
            if ending.reason is Reason.CRASHED and completions.is_reported(run):
                completions.complete(run, fence, fresh=True)
                return
    except Exception:  # it must not keep the sweep from what else was lost
        logger.exception("run %s: what its agent has reported could not be stored", run.pk)
    deliveries.end(run.pk, fence, ending, why="its run ended")


def due_runs(*, limit: int = 100) -> list[str]:
    """Ids of runs that may be claimed and were not nudged lately, each marked as nudged now by this caller alone."""
    now = now_s()
    due = Run.objects.filter(
        status=RunStatus.PENDING.value, due_at__lte=now, nudged_at__lt=now - RENUDGE_S, team__status=TeamStatus.ACTIVE.value
    ).order_by("due_at")
    return [
        pk
        for pk in due.values_list("pk", flat=True)[:limit]
        if Run.objects.filter(pk=pk, status=RunStatus.PENDING.value, nudged_at__lt=now - RENUDGE_S).update(nudged_at=now)
    ]


def renudge() -> list[str]:
    """Nudge due runs again; returns those whose nudge could not be sent: the caller runs them if it has a free slot."""
    return [run_id for run_id in due_runs() if not wake.nudge(run_id)]


def open_stalls() -> int:
    """Running runs that have been quiet for long get a `stall` decision; returns how many were opened.

    Waiting for the lead is not being quiet, and time before this life of the run, or before an answer, does not count.
    """
    opened = 0
    running = Run.objects.select_related("team", "task", "agent").defer(*LARGE_OF_TEAM).filter(status=RunStatus.RUNNING.value)
    for run in running:
        most_s = 60 * float(run.team.limits.get("stall_minutes") or STALL_MINUTES)
        if _quiet_s(run.last_step_at or run.started_at or run.created_at) <= most_s or decisions.has_open(run.pk):
            continue
        quiet_s = _quiet_s(_last_sign(run))
        if quiet_s > most_s:
            payload = {"quiet_s": int(quiet_s), "last": run.agent.now_text}
            opened += decisions.open_by_system(kind=DecisionKind.STALL, task=run.task, run=run, payload=payload) is not None
    return opened


def _quiet_s(since: datetime) -> float:
    return (now() - since).total_seconds()


def _last_sign(run: Run) -> datetime:
    """When the run last did something, its present life began, or the lead last answered it."""
    started = Event.objects.filter(team_id=run.team_id, kind=EventKind.RUN_STARTED.value, run_id=run.pk).aggregate(at=Max("at"))
    answered = Decision.objects.filter(run=run).aggregate(at=Max("answered_at"))
    signs = (run.last_step_at, run.started_at, run.created_at, started["at"], answered["at"])
    return max(sign for sign in signs if sign is not None)


def close_stalls() -> int:
    """A stall ends by itself when its run does something or has no process any more; returns how many were closed."""
    open_ones = Decision.objects.select_related("run").filter(kind=DecisionKind.STALL.value, status=DecisionStatus.OPEN.value)
    closed = 0
    for decision in open_ones:
        run = decision.run
        if run is None or run.status != RunStatus.RUNNING.value:
            closed += decisions.withdraw(decision.pk, why="its process is gone")
        elif run.last_step_at and run.last_step_at > decision.opened_at:
            closed += decisions.withdraw(decision.pk, why="the agent goes on by itself")
    return closed


def tick_all() -> None:
    """Schedule every team that may end: the slow twin of the ticks that follow each change. A fault in one stays in that one."""
    for team_id in Team.objects.filter(ended_at=None).exclude(status=TeamStatus.STOPPED.value).values_list("pk", flat=True):
        try:
            scheduling.tick(team_id)
        except Exception:
            logger.exception("team %s could not be scheduled", team_id)


def sweep() -> list[str]:
    """What must not depend on a hint, once; returns due runs that could not be nudged. Nothing here waits for git."""
    take_back_expired()
    expiry.expire_due()
    handing.hand_on_late()
    context.expire_due()
    close_stalls()
    open_stalls()
    tick_all()
    return renudge()
