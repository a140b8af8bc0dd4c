"""Scheduling: which ready task goes to which agent, and what follows a failure. Idempotent; any process may tick."""

import logging
from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from tasks_app.domain import retry
from tasks_app.domain.deciders import Decider, Subject, is_lead, subject_of_failure
from tasks_app.domain.errors import Conflict
from tasks_app.domain.messaging import LEAD_ROLE
from tasks_app.domain.statuses import (
    REASON_WORD,
    TRANSIENT,
    AgentStatus,
    DecisionKind,
    DecisionStatus,
    Reason,
    RunStatus,
    TeamStatus,
)
from tasks_app.domain.text import cut
from tasks_app.models import Agent, Decision, Run, Task, Team
from tasks_app.selectors import queue
from tasks_app.selectors.places import parallel
from tasks_app.services import (
    capacity,
    deciding,
    decisions,
    deliveries,
    events,
    glances,
    leading,
    matching,
    messages,
    overruns,
    proofs,
    reviews,
    runs,
    stuck,
    tasks,
    teams,
)

logger = logging.getLogger(__name__)
ASK_FIRST = {reason.value for reason in retry.UNCOUNTED | {Reason.AUTH, Reason.START_FAILED, Reason.REFUSED, Reason.BUDGET}}
"""Failures that another agent would only repeat, or that count as no attempt and so could go on for ever: the lead is asked."""


@transaction.atomic
def tick(team_id: int) -> list[str]:
    """Give ready tasks to free agents within the team's cap; settle failures first. Returns the ids of new runs."""
    return give_out(team_id)


def give_out(team_id: int, *, keep: bool = False) -> list[str]:
    """`tick` in a transaction of the caller.

    A team that is paused or stopped gets nothing, but what was its last task may have ended meanwhile.
    `keep`: the caller has a place for the first of them and is to claim it: nobody is nudged for that one, where it can be helped
    (for the turn of a lead agent, and where one of many cannot start, somebody is; who comes second finds it taken).
    """
    team = events.lock(team_id)
    if team.status != TeamStatus.ACTIVE.value:
        leading.over(team)
        _note_end(team)
        return []
    if team.workspace_due:  # a restore is not over: `restores.finish_due` calls again
        return []
    seen = glances.at(team_id)
    woken = _look_after(team) if seen.settles else None
    slots = parallel(team.limits) - (capacity.at_work(team_id, due=True) if seen.settles else seen.at_work)
    started = _give(team, matching.pairs(team, most=slots), keep=keep) if slots > 0 else []
    if seen.settles or not seen.unfinished:
        _note_end(team)
    return [run.pk for run in (*started, *([woken] if woken else []))]


def _look_after(team: Team) -> Run | None:
    """What comes before new work; returns the run of a lead agent that was woken."""
    _stop_cancelled(team.pk)
    _settle_failures(team)
    stuck.look_after(team)
    return leading.turn(team)


def _give(team: Team, pairs: Sequence[tuple[Task, Agent]], *, keep: bool) -> list[Run]:
    """All together; one that cannot start must not keep the others waiting, so where there is one they are given one by one."""
    if not pairs:
        return []
    try:
        return runs.give_all(team, pairs, actor=events.SYSTEM, keep=keep)
    except Conflict as refused:
        if len(pairs) == 1:
            logger.warning("%s cannot start: %s", pairs[0][0].label, refused.message)
            return []
    return [run for pair in pairs for run in _give(team, [pair], keep=False)]


def _stop_cancelled(team_id: int) -> None:
    """A review that was ended by another reviewer's verdict needs no run any more."""
    for run in glances.cancelled(team_id).select_related("task"):
        deliveries.stop_open_run(run.task, actor=events.SYSTEM, reason=Reason.STOPPED, held=True)


def _note_end(team: Team) -> None:
    if team.ended_at is None and not queue.unfinished(team.pk).exists():
        Team.objects.filter(pk=team.pk).update(ended_at=timezone.now())


def _settle_failures(team: Team) -> None:
    for task in glances.unsettled(team.pk).select_related("assignee"):
        _settle_failure(team, task)


def _settle_failure(team: Team, task: Task) -> None:
    last = Run.objects.select_related("agent").filter(task=task).order_by("-attempt").first()
    if last is None:
        return
    by_policy = (
        team.limits.get("on_failure", "reassign") == "reassign"
        and deciding.settings(team.pk).by[Subject.FAILURE] is Decider.POLICY
        and last.reason not in ASK_FIRST
        and task.attempts < task.attempts_allowed
    )
    if by_policy:
        others = _others(task, last.agent)
        tasks.mark_ready_again(
            task,
            agent_id=others[0].pk if others else last.agent_id,
            guidance="",
            start="last",
            actor=events.SYSTEM,
            extra_attempt=False,
        )
        return
    subject = subject_of_failure(last.reason, used_up=task.attempts >= task.attempts_allowed)
    decisions.open_by_system(
        kind=DecisionKind.ESCALATION,
        task=task,
        run=None,
        payload=_escalation(task, last),
        subject=None if is_lead(last.agent.role) else subject,
    )


def _others(task: Task, last: Agent) -> list[Agent]:
    """Other active agents of the role, those first who have not tried it."""
    role = task.role or last.role
    tried = set(Run.objects.filter(task=task).values_list("agent_id", flat=True))
    found = Agent.objects.filter(team_id=task.team_id, role=role, status=AgentStatus.ACTIVE.value).exclude(pk=last.pk)
    return sorted(found, key=lambda a: (a.pk in tried, a.used_tokens, a.position))


def _escalation(task: Task, last: Run) -> dict[str, object]:
    candidates = (
        Agent.objects.filter(team_id=task.team_id, status=AgentStatus.ACTIVE.value)
        .exclude(pk=last.agent_id)
        .exclude(role__iexact=LEAD_ROLE)
    )
    dossier = last.dossier or {}
    options: list[dict[str, object]] = [
        {
            "label": f"Give it to {a.name}",
            "effect": f"{a.role}; gets the report of every attempt and your guidance.",
            "action": f"reassign:{a.pk}",
        }
        for a in candidates[:4]
    ]
    options += [
        {"label": f"Let {last.agent.name} try again", "effect": "A new attempt with your guidance.", "action": "retry"},
        {"label": "Mark it completed", "effect": "You did it by hand; what waits for it starts.", "action": "complete"},
        {"label": "Cancel it", "effect": "What depends on it stays blocked.", "action": "cancel"},
    ]
    ended = Reason.SENT_BACK if last.status == RunStatus.COMPLETED.value else Reason(last.reason or Reason.ERROR.value)
    why = last.detail or task.guidance or ended.value.replace("_", " ")
    in_vain = f"still could not go on after {last.retries} retries ({REASON_WORD[ended].lower()}; no attempt was counted)"
    failed = f"failed after attempt {last.attempt} of {task.attempts_allowed}"
    return {
        "problem": f"{task.label} {task.title} {in_vain if ended in TRANSIENT else failed}: {cut(why, 300)}",
        "tried": list(dossier.get("approaches") or []),
        "options": options,
        "recommendation": "",
        "auto": True,
    }


@transaction.atomic
def apply_answer(decision: Decision, *, actor: str) -> None:
    """Carry out what was chosen where the system itself asked (escalation after the last attempt, budget, stall)."""
    if decision.status != DecisionStatus.ANSWERED.value or decision.task is None:
        return
    if decision.kind == DecisionKind.ESCALATION.value and decision.payload.get("auto"):
        _apply_escalation(decision, decision.task, actor)
    elif decision.kind == DecisionKind.BUDGET.value:
        overruns.apply_answer(decision, actor=actor)
    elif decision.kind == DecisionKind.STALL.value and decision.run:
        _apply_stall(decision, decision.run, actor)
    else:
        return
    Decision.objects.filter(pk=decision.pk).update(consumed_at=timezone.now())


def _apply_stall(decision: Decision, run: Run, actor: str) -> None:
    if decision.choice == "stop":
        deliveries.stop_run(run, actor=actor, reason=Reason.STOPPED, held=True)
    elif decision.choice == "retry":
        deliveries.stop_run(run, actor=actor, reason=Reason.SUPERSEDED, held=False)
        tasks.start_next_from(run.task, "last")
    elif decision.note:
        sender = deciding.lead_agent(run.team_id) if actor.startswith("agent:") else None
        sender_id = sender.pk if sender else None
        messages.send(run.team_id, sender_agent_id=sender_id, to=run.agent.name, body=decision.note, actor=actor)


def _apply_escalation(decision: Decision, task: Task, actor: str) -> None:
    chosen: dict[str, object] = next((o for o in decision.payload["options"] if o["label"] == decision.answer.get("option")), {})
    action, guidance = str(chosen.get("action", "")), "\n".join(t for t in (decision.answer.get("text"), decision.note) if t)
    if action == "leave":
        return
    if action == "complete":
        deciding.may_accept(task.team_id, actor)
        evidence = proofs.overridden(task)
        if not tasks.mark_completed(task, by=decision.answered_by, evidence=evidence, output=guidance, actor=actor):
            return
        if task.review_of_id:
            reviews.settle(task, verdict=reviews.ACCEPT, note=guidance, by=decision.answered_by)
        deliveries.stop_open_run(task, actor=actor, reason=Reason.BY_HAND, held=False)
    elif action == "cancel":
        tasks.mark_cancelled(task, why=guidance or "given up after its last attempt", actor=actor)
        reviews.given_up(task, actor=actor)
    elif action.startswith("reopen:"):
        needed = Task.objects.filter(pk=int(action.split(":", 1)[1]), team_id=task.team_id).first()
        if needed is not None:
            tasks.mark_reopened(needed, why=guidance, actor=actor)
            teams.work_again(task.team_id)
    else:
        last = Run.objects.filter(task=task).order_by("-attempt").first()
        agent_id = int(action.split(":", 1)[1]) if action.startswith("reassign:") else (last.agent_id if last else None)
        if agent_id and not Agent.objects.filter(pk=agent_id, team_id=task.team_id, status=AgentStatus.ACTIVE.value).exists():
            raise Conflict("That agent is stopped. Choose another, or start it again.")
        more = task.attempts >= task.attempts_allowed
        tasks.mark_ready_again(task, agent_id=agent_id, guidance=guidance, start="last", actor=actor, extra_attempt=more)
