"""How a run ends: its terminal state and what becomes of its task, in one transaction."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import Reason, RunStatus
from tasks_app.domain.text import clean, clean_json, cut, mask_json, mask_secrets
from tasks_app.domain.transitions import DROP_RUN, END_RUN, FINISH_TASK, Move
from tasks_app.models import Run
from tasks_app.services import agents, dossiers, events, reviews, runs, tasks, usage, worktime


@dataclass(frozen=True)
class Ending:
    """How a run ends. `counts`: whether the attempt counts; `held`: a person stopped it, only a person starts it again.

    `dossier`: what is known of the attempt; None: what the rows know of one that was not completed, without its files.
    `untold`: whether its last prompt is missing in the stored transcript; None: to be looked for.
    """

    status: RunStatus
    reason: Reason
    detail: str = ""
    raw: str = ""
    result: str = ""
    counts: bool = True
    held: bool = False
    dossier: dict[str, Any] | None = None
    untold: bool | None = None


def finish(run_id: str, fence: int, ending: Ending) -> Run:
    """running → completed, failed or killed, together with what becomes of the task; returns the run as it was.

    Called in a transaction. Raises `LeaseLost`, before anything has changed.
    """
    run = runs.get(run_id)
    events.lock(run.team_id)
    runs.guard(run_id, fence, worked_s=worktime.until_now(), **_terminal(run, ending, END_RUN))
    usage.note_unreported_cost(run)
    with events.together(run.team_id):
        _settle(run, ending, actor=f"agent:{run.agent.name}", fence=fence)
    return run


@transaction.atomic
def end_pending(run_id: str, ending: Ending, *, actor: str) -> bool:
    """pending → a terminal state: there is no process to stop. Returns whether there was such a run."""
    events.lock(runs.get(run_id).team_id)
    run = runs.get(run_id)
    if not Run.objects.filter(pk=run_id, status__in=DROP_RUN.sources).update(**_terminal(run, ending, DROP_RUN)):
        return False
    _settle(run, ending, actor=actor, fence=None)
    return True


def stopped_as_asked(run: Run, *, detail: str = "") -> Ending:
    """The ending of a run whose process is seen gone after a person asked for it (`runs.ask_to_stop`)."""
    overtaken = run.stop_reason in (Reason.SUPERSEDED.value, Reason.BY_HAND.value)
    return Ending(
        RunStatus.KILLED,
        Reason(run.stop_reason) if overtaken else Reason.STOPPED,
        detail or f"Stopped by {run.stop_asked_by}.",
        counts=False,
        held=run.stop_reason == Reason.STOPPED.value,
    )


def stopped_by(actor: str, *, reason: Reason, held: bool) -> Ending:
    """The ending of a run that a person stopped."""
    return Ending(RunStatus.KILLED, reason, f"Stopped by {actor.split(':', 1)[-1]}.", counts=False, held=held)


def _terminal(run: Run, ending: Ending, move: Move) -> dict[str, Any]:
    return {
        "status": move.to(ending.status),
        "reason": ending.reason.value,
        "detail": clean(ending.detail),
        "raw": mask_secrets(cut(clean(ending.raw), 20_000)),
        "result": mask_secrets(clean(ending.result)),
        "dossier": mask_json(clean_json(_known(run, ending))),
        "ended_at": timezone.now(),
        "lease_until": 0,
        "pid": 0,
    }


def _known(run: Run, ending: Ending) -> dict[str, Any]:
    if ending.dossier is None and ending.status is not RunStatus.COMPLETED:
        return dossiers.of(run, reason=ending.reason, error=ending.detail)
    return ending.dossier or {}


EVENT_OF = {
    RunStatus.COMPLETED: EventKind.RUN_COMPLETED,
    RunStatus.FAILED: EventKind.RUN_FAILED,
    RunStatus.KILLED: EventKind.RUN_KILLED,
}


def _settle(run: Run, ending: Ending, *, actor: str, fence: int | None) -> None:
    """`fence`: the life that ends; None where no worker has the run."""
    agents.now(run.agent_id, "")
    data = {"reason": ending.reason.value, "detail": cut(ending.detail, 500)} | ({} if fence is None else {"fence": fence})
    runs.append_event(run, EVENT_OF[ending.status], actor=actor, data=data)
    if ending.status is RunStatus.COMPLETED:
        _complete(run, run.report or {}, ending.result, actor=actor)
        return
    landed = tasks.mark_released(
        run.task,
        failed=ending.status is RunStatus.FAILED,
        held=ending.held,
        counts=ending.counts,
        reason=ending.reason.value,
        detail=ending.detail,
        attempt=run.attempt,
        actor=actor,
    )
    if landed and ending.reason is Reason.STOPPED:  # what it changed stays; one that had not begun leaves its start to the next
        tasks.start_next_from(run.task, "last" if run.workspace_commit else run.start_from)


def _complete(run: Run, report: dict[str, Any], result: str, *, actor: str) -> None:
    """The task is completed, or goes to its reviewers; a task that is itself a review settles what it has judged."""
    if reviews.begin(run, report.get("reviewers") or {}):
        return
    output = report.get("summary") or result
    landed = tasks.mark_completed(
        run.task, by=run.agent.name, evidence=report.get("evidence") or {}, output=output, actor=actor, move=FINISH_TASK
    )
    if landed and run.task.review_of_id:
        reviews.settle(run.task, verdict=report.get("verdict") or reviews.SEND_BACK, note=output, by=run.agent.name)
