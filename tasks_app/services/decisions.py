"""Decisions: opened by an agent or the system, answered by the lead exactly once. Their delivery is in `deliveries`."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from tasks_app import wake
from tasks_app.decision_kinds import registry
from tasks_app.decision_kinds.base import Given, asker, payload_hash
from tasks_app.domain import asked, deciders
from tasks_app.domain.ask_keys import ask_key, earlier, is_prose
from tasks_app.domain.deciders import Subject
from tasks_app.domain.errors import AlreadyAnswered, DecisionGone, Invalid, NotFound, Stale
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import DECISION_PREFIX, new_id
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, RunStatus
from tasks_app.domain.text import clean, clean_json, cut, mask_json
from tasks_app.domain.transitions import ANSWER, WITHDRAW
from tasks_app.models import Decision, Run, Task
from tasks_app.runners.port import Ask
from tasks_app.selectors.worktime import WAITS
from tasks_app.services import clock, deciding, events, judges, keys, rows, runs, task_edits

NOTE_LIMIT = 20_000


def get(decision_id: str) -> Decision:
    """Return the decision with team, task, run and agent; raises NotFound."""
    decision = rows.decision(decision_id)
    if decision is None:
        raise NotFound("There is no such request.")
    return decision


@transaction.atomic
def open_for_run(run_id: str, fence: int, ask: Ask) -> Decision:
    """Open a decision, or find the one that asks the same: still open, or answered and not yet in the transcript.

    So the lead is asked nothing twice, whatever was killed in between. Raises `LeaseLost`.
    """
    run = runs.get(run_id)
    events.lock(run.team_id)
    runs.guard(run_id, fence)
    kind, payload = ask.kind.value, clean_json(dict(ask.payload))
    key = ask_key(kind, payload)
    known = Decision.objects.filter(run_id=run_id, kind=kind, ask_key__in={key, earlier(kind, payload)})
    pending = known.filter(status=DecisionStatus.OPEN.value).first()
    if pending is None:
        pending = known.filter(usable(fence), status=DecisionStatus.ANSWERED.value).order_by("answered_at").first()
    if pending is not None:
        Decision.objects.filter(pk=pending.pk).update(tool_use_id=ask.tool_use_id[:80], parked=False)
        return get(pending.pk)
    return _create(run, ask, kind=kind, key=key)


def usable(fence: int) -> Q:
    """Answers that this life of a run may still be given."""
    return Q(consumed_at=None) & (Q(delivered_fence=None) | Q(delivered_fence__lt=fence))


def _create(run: Run, ask: Ask, *, kind: str, key: str) -> Decision:
    payload = asked.as_asked(clean_json(dict(ask.payload)), prose=is_prose(kind))
    if kind == DecisionKind.PLAN.value:
        payload |= _plan_history(run)
    timeout = run.team.limits.get("decision_timeout_s")
    subject = deciders.subject_of(kind, payload)
    return _insert(
        Decision(
            team=run.team,
            task=run.task,
            run=run,
            agent=run.agent,
            kind=kind,
            payload=payload,
            ask_key=key,
            subject=subject.value,
            **deciding.of(run.team_id, subject, asker_id=run.agent_id),
            title=cut(registry.get(kind).title(payload, asker(run.agent.name, ask.subagent)), 300),
            tool_use_id=ask.tool_use_id[:80],
            subagent=ask.subagent[:80],
            expires_at=clock.now() + timedelta(seconds=float(timeout)) if timeout else None,
        )
    )


def _plan_history(run: Run) -> dict[str, Any]:
    """The number of this version of the plan over every life of the run, and the text of the one before."""
    earlier = list(Decision.objects.filter(run=run, kind=DecisionKind.PLAN.value).order_by("opened_at", "pk"))
    return {"version": len(earlier) + 1, "previous": earlier[-1].payload.get("plan") if earlier else None}


def _insert(decision: Decision) -> Decision:
    decision.pk = new_id(DECISION_PREFIX)
    decision.payload_hash = payload_hash(decision.payload)
    decision.opened_at = clock.now()
    decision.save(force_insert=True)
    append_event(EventKind.DECISION_OPENED, decision, data={"kind": decision.kind, "title": decision.title})
    return get(decision.pk)


def append_event(
    kind: EventKind, decision: Decision, *, actor: str = events.SYSTEM, data: Mapping[str, Any] | None = None
) -> None:
    """Append an event about the decision: its card, the inbox, its task, agent and run become stale."""
    names = {keys.decision(decision.pk), keys.inbox(decision.team_id), keys.tasks(decision.team_id)}
    names |= {keys.task(decision.task_id)} if decision.task_id else set()
    names |= {keys.agent(decision.agent_id)} if decision.agent_id else set()
    names |= {keys.run(decision.run_id)} if decision.run_id else set()
    events.append(
        decision.team_id,
        kind,
        actor=actor,
        keys=names,
        task_number=Task.objects.values_list("number", flat=True).get(pk=decision.task_id) if decision.task_id else None,
        run_id=decision.run_id or "",
        agent_id=decision.agent_id,
        decision_id=decision.pk,
        data=data,
    )


@transaction.atomic
def open_by_system(
    *,
    kind: DecisionKind,
    task: Task,
    run: Run | None,
    payload: Mapping[str, Any],
    shared: str = "",
    subject: Subject | None = None,
) -> Decision | None:
    """Open a decision that no agent asked for (escalation after the last attempt, budget, stall); one of a kind at a time.

    `shared` names what several runs may wait for together (`overruns`), `subject` by which setting it is decided: None is the
    human's alone.
    """
    events.lock(task.team_id)
    same = Decision.objects.filter(task=task, run=run, kind=kind.value, status=DecisionStatus.OPEN.value)
    if same.exists():
        return None
    agent, shown = run.agent if run else None, asked.visible_json(mask_json(clean_json(dict(payload))), prose=True)
    title = registry.get(kind.value).title(shown, agent.name if agent else task.label)
    return _insert(
        Decision(
            team_id=task.team_id,
            task=task,
            run=run,
            agent=agent,
            kind=kind.value,
            payload=shown,
            ask_key=ask_key(kind.value, {**payload, "at": timezone.now().isoformat()}),
            subject=subject.value if subject else "",
            **deciding.of(task.team_id, subject, asker_id=agent.pk if agent else None),
            title=cut(title, 300),
            parked=True,
            shared=shared,
        )
    )


@transaction.atomic
def answer(
    decision_id: str, *, choice: str, note: str, data: Mapping[str, Any] | None, version: int, payload_hash: str, actor: str
) -> Decision:
    """Store the answer: the first one wins. Wakes the waiting agent, or makes the parked run due.

    Raises `AlreadyAnswered` (who and when), `DecisionGone` (why), `Stale` (what is shown has changed), `Forbidden` (an agent
    answers what is not the lead agent's, or somebody else than the person it is for) or `Invalid` naming the field.
    """
    events.lock(get(decision_id).team_id)
    decision = get(decision_id)
    if not actor.startswith("user:"):
        deciding.must_be_the_lead_agents(decision, actor)
    must_be_open(decision)
    judges.must_be_theirs(decision.payload, actor)
    if version != decision.version or payload_hash != decision.payload_hash:
        raise Stale("This changed while you read it. Look at it again before you answer.", decision=decision_id)
    given = _checked(decision, choice, note, data)
    Decision.objects.filter(pk=decision_id, status__in=ANSWER.sources).update(
        status=ANSWER.target,
        choice=given.choice,
        note=given.note,
        answer=clean_json(dict(given.data)),
        answered_by=deciders.signed(actor)[:80],
        answered_at=timezone.now(),
    )
    if decision.kind == DecisionKind.PERMISSION.value and given.choice == "allow_rule" and decision.task:
        task_edits.allow_rule(decision.task, str(decision.payload["rule"]), by=deciders.signed(actor))
    append_event(
        EventKind.DECISION_ANSWERED, decision, actor=actor, data={"kind": decision.kind, "choice": given.choice, "by": actor}
    )
    wake_run(decision, why=f"{decision.kind} answered")
    return get(decision_id)


def _checked(decision: Decision, choice: str, note: str, data: Mapping[str, Any] | None) -> Given:
    kind = registry.get(decision.kind)
    if choice not in kind.CHOICES:
        raise Invalid(f"“{choice[:40]}” is not an answer here. Use one of: {', '.join(kind.CHOICES)}.", field="choice")
    if len(note) > NOTE_LIMIT:
        raise Invalid(f"The note is longer than {NOTE_LIMIT:,} characters.", field="note")
    return kind.check(Given(choice, clean(note).strip(), clean_json(dict(data or {}))), decision.payload)


def must_be_open(decision: Decision) -> None:
    """Raise `AlreadyAnswered` or `DecisionGone`, in words, for one that is not open."""
    if decision.status == DecisionStatus.ANSWERED.value:
        at = f"{decision.answered_at:%H:%M:%S} UTC"
        raise AlreadyAnswered(
            f"Already decided by {decision.answered_by} at {at}: {registry.choice_word(decision.choice)}.",
            answered_by=decision.answered_by,
            answered_at=at,
        )
    if decision.status != DecisionStatus.OPEN.value:
        raise DecisionGone(f"This request ended: {decision.closed_why or decision.status}. Nothing was sent.")


def wake_run(decision: Decision, *, why: str) -> None:
    """Wake the process that waits, or make the parked runs due for which this was the last they waited for."""
    for run_id in waiting_runs(decision):
        if not has_open(run_id):
            runs.make_due(run_id, why=why)
        transaction.on_commit(partial(wake.run, run_id), robust=True)


def waiting_runs(decision: Decision) -> list[str]:
    """Ids of the runs that wait for the decision: its own, and those parked on the same used-up budget."""
    joined = Run.objects.filter(waits_for=decision, status=RunStatus.PENDING.value).order_by("created_at", "pk")
    return [*([decision.run_id] if decision.run_id else []), *joined.values_list("pk", flat=True)]


@transaction.atomic
def withdraw(decision_id: str, *, why: str, actor: str = events.SYSTEM) -> bool:
    """open → withdrawn; returns whether it landed. A parked run whose last request this was goes on."""
    decision = get(decision_id)
    events.lock(decision.team_id)
    landed = Decision.objects.filter(pk=decision_id, status__in=WITHDRAW.sources).update(
        status=WITHDRAW.target, closed_why=cut(why, 200)
    )
    if landed:
        append_event(EventKind.DECISION_WITHDRAWN, decision, actor=actor, data={"kind": decision.kind, "why": why})
        wake_run(decision, why=why)
    return bool(landed)


def withdraw_all(
    *, why: str, actor: str = events.SYSTEM, run_id: str = "", task_id: int | None = None, team_id: int | None = None
) -> int:
    """Withdraw every open decision of a run, of a task or of a team; returns how many. What is still needed is asked again."""
    scope = Q(run_id=run_id) if run_id else Q(task_id=task_id) if task_id else Q(team_id=team_id)
    open_ones = Decision.objects.filter(scope, status=DecisionStatus.OPEN.value).values_list("pk", flat=True)
    return sum(withdraw(pk, why=why, actor=actor) for pk in list(open_ones) if team_id or not _passed_on(pk, run_id))


@transaction.atomic
def _passed_on(decision_id: str, run_id: str) -> bool:
    """The run that asked has ended: others that wait for the same answer keep the question. Whether there was one."""
    decision = get(decision_id)
    events.lock(decision.team_id)
    following = Run.objects.filter(waits_for=decision, status=RunStatus.PENDING.value).exclude(pk=run_id).order_by("created_at")
    heir = following.select_related("task").first()
    if heir is None:
        return False
    Decision.objects.filter(pk=decision_id).update(run=heir, task=heir.task, agent_id=heir.agent_id)
    runs.join(heir.pk, None)
    append_event(EventKind.NOTE, get(decision_id), data={"text": f"asked for {heir.task.label} from now on"})
    return True


def has_open(run_id: str) -> bool:
    """Whether the run waits for the lead."""
    return Decision.objects.filter(runs.asked_for(run_id)).exists()


def mark_parked_for_lost(run_id: str) -> bool:
    """The process that waited is gone: the request stays open, its answer is kept. Returns whether there was one."""
    return bool(Decision.objects.filter(WAITS, run_id=run_id, status=DecisionStatus.OPEN.value).update(parked=True))
