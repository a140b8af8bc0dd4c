"""What tasks of a plan or a team will probably take, from the attempts that this installation has finished."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, Subquery, Sum
from django.db.models.functions import JSONObject

from tasks_app.domain.budget import DEFAULT_TEAM_USD
from tasks_app.domain.estimate import (
    Estimate,
    Finished,
    Kind,
    Room,
    Total,
    estimate,
    expected_minutes_of,
    room,
    short_of,
    size_of,
    total,
)
from tasks_app.domain.events import EventKind
from tasks_app.domain.plan_model import Plan, Task
from tasks_app.domain.statuses import AgentStatus, RunStatus, TaskStatus
from tasks_app.models import Agent, Event, Run
from tasks_app.models import Task as StoredTask
from tasks_app.models.teams import LARGE_OF_TEAM
from tasks_app.selectors.states import TaskState, with_state

NEWEST, NEWEST_LIKE = 500, 200
"""So many finished attempts are looked at, of all kinds and of one: what was long ago was with other models."""
FIELDS = (
    *("task__type", "task__expected_max", "agent__role", "agent__model", "context_peak", "context_first", "cost_usd"),
    "all",
)


OF_TASK = ("type", "role", "status", "assignee_id", "expected_min", "expected_max", "team__rehearsal")


@dataclass(frozen=True)
class Forecast:
    """Whether a task that is about to start fits what is left of the session its agent would go on in."""

    agent_pk: int
    agent: str
    room: Room


@dataclass(frozen=True)
class TaskEstimate:
    """What a task will probably take, and how that stands to those who could start it now."""

    estimate: Estimate
    forecasts: tuple[Forecast, ...]  # only where all figures are known


@dataclass(frozen=True)
class NextTask:
    """The first queued task that an agent may take, and whether it fits what is left of its session."""

    pk: int
    label: str
    title: str
    room: Room


def finished(*, rehearsal: bool, like: tuple[str, float] | None = None) -> list[Finished]:
    """Return the newest finished tasks, each with all its attempts.

    With `like` (a task's type and longest expected minutes) of its type and size only.

    Rehearsed ones are told from real ones: their figures are scripted. What ended before its team was imported was learned where
    it was done, by other accounts and machines, or is here twice. One query.
    """
    rows = Run.objects.filter(status=RunStatus.COMPLETED.value, team__rehearsal=rehearsal)
    rows = rows.filter(started_at__isnull=False, ended_at__isnull=False)
    if like is not None:
        above, upto = expected_minutes_of(size_of(like[1]))
        rows = rows.filter(task__type=like[0], task__expected_max__gt=above)
        rows = rows if upto is None else rows.filter(task__expected_max__lte=upto)
    later = Run.objects.filter(task=OuterRef("task"), status=RunStatus.COMPLETED.value, attempt__gt=OuterRef("attempt"))
    imported = Event.objects.filter(team=OuterRef("team"), kind=EventKind.TEAM_IMPORTED.value, at__gte=OuterRef("ended_at"))
    rows = rows.filter(~Exists(later), ~Exists(imported)).annotate(all=_of_all_attempts())
    return [_finished(row) for row in rows.order_by("-ended_at").values(*FIELDS)[: NEWEST if like is None else NEWEST_LIKE]]


def _of_all_attempts() -> Subquery:
    """What all attempts of its task took together, the failed ones too: read once, as one value."""
    tried = Run.objects.filter(task=OuterRef("task"), attempt__lte=OuterRef("attempt")).order_by().values("task")
    new_tokens = F("input_tokens") + F("cache_creation_tokens") + F("output_tokens")
    sums = JSONObject(tokens=Sum(new_tokens), worked_s=Sum("worked_s"), usd=Sum("cost_usd"))
    return Subquery(tried.annotate(all=sums).values("all"))


def _finished(row: dict[str, Any]) -> Finished:
    """What was in the context at its first response belongs to earlier tasks of the session: a task adds the rest."""
    peak, first = row["context_peak"], row["context_first"]
    return Finished(
        Kind(row["task__type"], size_of(row["task__expected_max"]), row["agent__role"], row["agent__model"]),
        tokens=row["all"]["tokens"],
        minutes=row["all"]["worked_s"] / 60,
        usd=None if row["cost_usd"] is None else float(row["all"]["usd"]),
        context_added=None if peak is None or first is None else max(0, peak - first),
    )


def of_task(task_id: int) -> TaskEstimate | None:
    """Return what a task will probably take, None where there is none; three queries.

    While it waits for its start, also whether it fits the sessions of the agents that may take it.
    """
    task = StoredTask.objects.filter(pk=task_id).select_related("team").only(*OF_TASK).first()
    if task is None:
        return None
    able = _able(task)
    found = _estimate(task, [(agent.role, agent.model) for agent in able], rehearsal=task.team.rehearsal)
    waits = task.status == TaskStatus.PENDING.value
    carrying = [agent for agent in able if agent.session_id and agent.status == AgentStatus.ACTIVE.value] if waits else []
    forecasts = [(agent, fit) for agent in carrying if (fit := _room(found, agent))]
    return TaskEstimate(found, tuple(Forecast(agent.pk, agent.name, fit) for agent, fit in forecasts))


def room_of(task: StoredTask, agent: Agent, *, rehearsal: bool) -> Room | None:
    """Return whether a task fits what is left of an agent's session; None where that is not known. One query."""
    return _room(_estimate(task, [(agent.role, agent.model)], rehearsal=rehearsal), agent)


def of_plan(plan: Plan, *, rehearsal: bool) -> Total:
    """Return what all tasks of a plan will probably take together."""
    known = finished(rehearsal=rehearsal)
    return total([estimate(_of_plan(plan, task), known, expected_min=task.expected_minutes) for task in plan.tasks])


def short_budget(plan: Plan, *, rehearsal: bool) -> str:
    """Return why the budget of a plan will probably not do, in a sentence; empty where nothing speaks against it."""
    own = plan.budget
    usd = DEFAULT_TEAM_USD if own.usd is None and own.tokens is None else own.usd
    return short_of(of_plan(plan, rehearsal=rehearsal), usd=None if usd is None else float(usd), tokens=own.tokens)


def next_of(agent_id: int) -> NextTask | None:
    """Return the first queued task that an idle agent may take, where it is known whether it fits its session; three queries."""
    agent = Agent.objects.filter(pk=agent_id, status=AgentStatus.ACTIVE.value).exclude(session_id="").first()
    if agent is None:
        return None
    may = Q(assignee=agent) | Q(assignee=None, role__in=("", agent.role))
    queued = with_state(StoredTask.objects.filter(may, team_id=agent.team_id, held=False)).filter(state=TaskState.QUEUED)
    task = queued.select_related("team").order_by("priority", "position", "number").defer(*LARGE_OF_TEAM).first()
    fit = room_of(task, agent, rehearsal=task.team.rehearsal) if task else None
    return NextTask(task.pk, task.label, task.title, fit) if task and fit else None


def _room(found: Estimate, agent: Agent) -> Room | None:
    return room(found.context, used=agent.context_tokens, window=agent.context_window)


def _able(task: StoredTask) -> list[Agent]:
    """Who may do the task: its assignee, else those of its role."""
    crew = list(Agent.objects.filter(team_id=task.team_id).defer("instructions"))
    if task.assignee_id:
        return [agent for agent in crew if agent.pk == task.assignee_id]
    return [agent for agent in crew if not task.role or agent.role == task.role]


def _estimate(task: StoredTask, able: Sequence[tuple[str, str]], *, rehearsal: bool) -> Estimate:
    known = finished(rehearsal=rehearsal, like=(task.type, task.expected_max))
    kind = _kind(task.type, task.expected_max, able)
    return estimate(kind, known, expected_min=(task.expected_min, task.expected_max))


def _of_plan(plan: Plan, task: Task) -> Kind:
    able = [
        (agent.role, agent.model or "")
        for agent in plan.agents
        if (not task.assignee or agent.name == task.assignee) and (not task.role or agent.role == task.role)
    ]
    return _kind(task.type, task.expected_minutes[1], able)


def _kind(type_: str, expected_max: float, able: Sequence[tuple[str, str]]) -> Kind:
    """Who does a task is known where it is assigned, or where its role has one model."""
    roles, models = {role for role, _ in able}, {model for _, model in able}
    role, model = (next(iter(found)) if len(found) == 1 else "" for found in (roles, models))
    return Kind(type_, size_of(expected_max), role, model)
