"""Stuck tasks: one that nobody may do, or that waits for what was cancelled, is put before the lead agent as a choice, once."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from tasks_app.domain.deciders import TURN, Decider, Subject, is_lead
from tasks_app.domain.statuses import AgentStatus, DecisionKind, DecisionStatus, TaskStatus
from tasks_app.models import Agent, Decision, Task, Team
from tasks_app.services import deciding, decisions
from tasks_app.services.agents import may_take

MOST_OPTIONS = 4
CANCEL = {"label": "Cancel it", "effect": "What depends on it stays blocked.", "action": "cancel"}
LEAVE = {"label": "Leave it", "effect": "It waits as it is; you are not asked again for this.", "action": "leave"}


@dataclass(frozen=True)
class Stuck:
    """A task that cannot go on by itself. `cause` names why, so that the same is asked once."""

    task: Task
    cause: str
    problem: str
    options: tuple[dict[str, Any], ...]


def asked(team_id: int) -> QuerySet[Decision]:
    """Return the open requests about stuck tasks."""
    return _about(team_id).filter(status=DecisionStatus.OPEN.value)


def _about(team_id: int) -> QuerySet[Decision]:
    return Decision.objects.filter(team_id=team_id, kind=DecisionKind.ESCALATION.value, payload__cause__isnull=False)


def look_after(team: Team) -> None:
    """Ask the lead agent about what is stuck and take back what is not any more. Without one the page alone shows it."""
    open_ones, asks = list(asked(team.pk)), _asks(team)
    if not asks and not open_ones:
        return  # what is stuck is worked out only for somebody
    found = {(one.task.pk, one.cause): one for one in _stuck(team)}
    for decision in open_ones:
        if (decision.task_id, decision.payload["cause"]) not in found:
            decisions.withdraw(decision.pk, why="it can go on now")
    if not asks:
        return
    known = {(task_id, payload["cause"]) for task_id, payload in _about(team.pk).values_list("task_id", "payload")}
    for key, one in found.items():
        if key not in known:
            decisions.open_by_system(
                kind=DecisionKind.ESCALATION, task=one.task, run=None, payload=_payload(one), subject=Subject.ESCALATION
            )


def _asks(team: Team) -> bool:
    """Whether there is a lead agent that such a choice is left to."""
    lead = deciding.lead_agent(team.pk)
    return lead is not None and deciding.settings(team.pk).by[Subject.ESCALATION] is Decider.LEAD


def _payload(one: Stuck) -> dict[str, Any]:
    return {"problem": one.problem, "tried": [], "options": list(one.options), "auto": True, "cause": one.cause}


def _stuck(team: Team) -> Iterator[Stuck]:
    agents = list(Agent.objects.filter(team=team, status=AgentStatus.ACTIVE.value))
    pending = Task.objects.filter(team=team, status=TaskStatus.PENDING.value, failed=False, held=False).exclude(type=TURN)
    dead = {
        task_id: (needs_id, number)
        for task_id, needs_id, number in pending.filter(dependencies__needs__status=TaskStatus.CANCELLED.value).values_list(
            "pk", "dependencies__needs_id", "dependencies__needs__number"
        )
    }
    for task in pending.select_related("assignee"):
        if task.pk in dead:
            yield _dead_end(task, *dead[task.pk])
        elif not any(may_take(agent, task) for agent in agents):
            yield _nobody(task, agents)


def _dead_end(task: Task, needs_id: int, number: int) -> Stuck:
    problem = f"{task.label} {task.title} can never start: T-{number}, which it depends on, was cancelled."
    again = {"label": f"Do T-{number} after all", "effect": "It goes back to the queue.", "action": f"reopen:{needs_id}"}
    return Stuck(task, f"cancelled:{needs_id}", problem, (again, CANCEL, LEAVE))


def _nobody(task: Task, agents: list[Agent]) -> Stuck:
    who = f"{task.assignee.name}, to whom it is given, is stopped" if task.assignee else f"no active agent is a {task.role}"
    options = tuple(
        {"label": f"Give it to {agent.name}", "effect": f"{agent.role}.", "action": f"reassign:{agent.pk}"}
        for agent in agents
        if not is_lead(agent.role)
    )[:MOST_OPTIONS]
    cause = f"nobody:{task.assignee_id or task.role}"
    return Stuck(task, cause, f"Nobody can do {task.label} {task.title}: {who}.", (*options, CANCEL, LEAVE))
