"""Deliveries: how an answer reaches one life of a run exactly once, and when it is spent for good."""

import datetime as dt
import re
from collections.abc import Collection, Sequence

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from tasks_app.decision_kinds import registry
from tasks_app.domain.errors import DecisionGone, HandedOver
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import DecisionStatus, Reason, RunStatus, StepKind
from tasks_app.models import Decision, Run, Step, Task, TranscriptEntry
from tasks_app.services import decisions, endings, events, rows, runs, steps
from tasks_app.services.endings import Ending

TOLD = re.compile(r"\[crewdesk:(?:answered|repeat) ([\w-]{1,80})\]")
"""How our own prompts name the answers that they tell (`decision_kinds.base`)."""
LIFE = "[crewdesk:life {}:{}]"
"""What every prompt of ours begins with: the run and the number of the life that was given it."""
GAP = (
    "What this attempt was told last did not reach its stored transcript, because writes were lost. The attempt is not affected; "
    "a session that goes on from it does not know of it."
)


@transaction.atomic
def deliver(
    decision_id: str, fence: int, *, tool_use_id: str = "", mine: dict[str, dt.datetime] | None = None
) -> Decision | None:
    """Hand an answer to this life of the run, once; None while it is open. Raises `DecisionGone`, `LeaseLost` or `HandedOver`.

    `tool_use_id`: the call that has it now, of several with the same words: its result is what spends the answer.
    `mine`: what an earlier try of this call has handed over, and when; its commit may be done.
    """
    mine = {} if mine is None else mine
    decision = decisions.get(decision_id)
    if decision.status == DecisionStatus.OPEN.value:
        return None
    if decision.status != DecisionStatus.ANSWERED.value:
        raise DecisionGone(decision.closed_why or decision.status)
    events.lock(decision.team_id)
    runs.guard(decision.run_id or "", fence)
    now = timezone.now()
    landed = Decision.objects.filter(decisions.usable(fence), pk=decision_id, status=DecisionStatus.ANSWERED.value).update(
        delivered_fence=fence, delivered_at=now, **({"tool_use_id": tool_use_id[:80]} if tool_use_id else {})
    )
    if not landed:
        again = decisions.get(decision_id)
        if (again.delivered_fence, again.delivered_at) == (fence, mine.get(decision_id)):
            return again
        raise HandedOver("This answer was handed over already.")
    mine[decision_id] = now
    decisions.append_event(EventKind.DECISION_DELIVERED, decision, data={"kind": decision.kind, "fence": fence})
    return decisions.get(decision_id)


def undelivered(run_id: str) -> list[Decision]:
    """Closed decisions whose effect the transcript does not hold yet: the resumed prompt must speak of them."""
    done = (DecisionStatus.ANSWERED.value, DecisionStatus.EXPIRED.value)
    return list(Decision.objects.filter(run_id=run_id, status__in=done, consumed_at=None).order_by("opened_at", "pk"))


def tell_again(run_id: str, fence: int, decision_ids: Collection[str]) -> None:
    """What these answers told was lost with a line of the transcript: they count as untold again. Raises `LeaseLost`."""
    if decision_ids:
        with runs.holding(run_id, fence):
            Decision.objects.filter(run_id=run_id, pk__in=decision_ids).update(consumed_at=None)


def consume(run_id: str, fence: int, *, results: Sequence[str], told: Sequence[str]) -> None:
    """The resumable transcript holds the effect of these answers: they are spent for good.

    `results`: tool calls that came back; one that was refused only because the run was parked has not had its answer yet.
    `told`: what the prompt of this life said of answers given while no process waited; naming the call or the decision.
    """
    closed = _unspent(run_id)
    handed = Q(delivered_fence__isnull=False) | Q(status=DecisionStatus.EXPIRED.value)
    closed.filter(handed, tool_use_id__in=[pk for pk in results if pk]).update(consumed_at=timezone.now())
    _spend(closed.filter(_named(told)), fence)


def consume_leave(run_id: str, fence: int, *, results: Sequence[str]) -> None:
    """These calls, which a sub-agent had leave to make, came back: the leave is spent. A refusal stays, and is told again."""
    granted = Q(*(Q(kind=kind.value, choice__in=registry.get(kind).GRANTS) for kind in registry.KINDS), _connector=Q.OR)
    _spend(_unspent(run_id).filter(granted, tool_use_id__in=results, delivered_fence__isnull=False), fence)


def end(run_id: str, fence: int, ending: Ending, *, why: str) -> None:
    """End a run together with what it asked: open requests are withdrawn, told answers are spent. Raises `LeaseLost`.

    Called in a transaction, which is to be undone where it raises.
    """
    run = endings.finish(run_id, fence, ending)
    asked = bool(rows.read(Decision, ["id"], {"run_id": run_id}))  # most runs ask for nothing
    if asked:
        decisions.withdraw_all(why=why, run_id=run_id)
    if is_untold(run) if ending.untold is None else ending.untold:
        steps.note(run_id, GAP)
    if asked and ending.status is RunStatus.COMPLETED:
        _spend_told(run_id, fence)


def _spend_told(run_id: str, fence: int) -> None:
    """There is no next life: what this one was told is spent, also where its transcript was lost (a full disk)."""
    said = Step.objects.filter(run_id=run_id, kind=StepKind.PROMPT.value).values_list("text", flat=True)
    told = {name for text in said for name in TOLD.findall(text)}
    _spend(_unspent(run_id).filter(Q(delivered_fence__isnull=False) | _named(told)), fence)


def _unspent(run_id: str) -> QuerySet[Decision]:
    """Return what is closed and whose effect the transcript does not hold yet."""
    return Decision.objects.filter(run_id=run_id, consumed_at=None).exclude(status=DecisionStatus.OPEN.value)


def _named(told: Collection[str]) -> Q:
    """Match what was told, which is named by its tool call or by its own id."""
    return Q(tool_use_id__in=told) | Q(pk__in=told)


def _spend(found: QuerySet[Decision], fence: int) -> None:
    """Spend these for good; one that no life was handed counts as handed to this one now."""
    now = timezone.now()
    found.update(
        consumed_at=now, delivered_fence=Coalesce(F("delivered_fence"), fence), delivered_at=Coalesce(F("delivered_at"), now)
    )


def is_untold(run: Run) -> bool:
    """Whether this life's own prompt is missing in the stored transcript. All of that is read: not to be asked under a lock."""
    mark = LIFE.format(run.pk, run.fence)
    if not Step.objects.filter(run=run, fence=run.fence, kind=StepKind.PROMPT.value, text__startswith=mark).exists():
        return False
    return not TranscriptEntry.objects.filter(session_id=run.session_id, subpath="", entry__contains=mark).exists()


def stop_open_run(task: Task, *, actor: str, reason: Reason, held: bool) -> None:
    """`stop_run` of what works on a task, if anything does."""
    run = Run.objects.filter(task=task, status__in=runs.OPEN).first()
    if run is not None:
        stop_run(run, actor=actor, reason=reason, held=held)


def stop_run(run: Run, *, actor: str, reason: Reason, held: bool) -> None:
    """Stop an open run, which ends at once where no process has it; its open requests are withdrawn.

    Called under the team's lock, with the run as it was read under it.
    """
    if run.status == RunStatus.PENDING.value:
        endings.end_pending(run.pk, endings.stopped_by(actor, reason=reason, held=held), actor=actor)
    else:
        runs.ask_to_stop(run.pk, actor=actor, reason=reason, held=held)
    decisions.withdraw_all(why="its run was stopped", actor=actor, run_id=run.pk)
