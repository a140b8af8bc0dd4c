"""Agents as pages show them: what each does now, how full its context is, what it has used."""

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from tasks_app.domain.deciders import Decider
from tasks_app.domain.ids import task_label
from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import AgentStatus, DecisionKind, DecisionStatus, RunStatus
from tasks_app.domain.text import one_line
from tasks_app.models import Agent, Decision, Run
from tasks_app.selectors import workers, worktime
from tasks_app.selectors.clock import DatabaseNow
from tasks_app.selectors.look import once, shelf, through, under_way
from tasks_app.selectors.states import AgentState, ContextUse, over_time
from tasks_app.selectors.worktime import Worktime
from tasks_app.selectors.written import OPEN_RUNS


class _Row(NamedTuple):
    """What a card says, by the names of the columns: nothing else is read, and no model is made of it.

    An agent's instructions and its team's plan may be long, and there may be hundreds of agents.
    """

    pk: int
    team_id: int
    name: str
    role: str
    model: str
    plan_mode: bool
    status: str
    now_text: str
    context_tokens: int | None
    context_window: int | None
    compacted_at: dt.datetime | None
    used_tokens: int
    cached_tokens: int
    used_usd: Decimal
    cost_known: bool
    cost_partial: bool
    last_event_at: dt.datetime | None
    team__slug: str
    team__name: str
    team__rehearsal: bool
    team__ended_at: dt.datetime | None


@dataclass(frozen=True)
class OpenRun:
    """The open run of an agent: at most one exists."""

    id: str
    task_id: int
    task_number: int
    task_title: str
    attempt: int
    status: RunStatus
    started_at: dt.datetime | None
    expected_min: float
    expected_max: float
    silent_s: float  # since the last heartbeat; meaningful while running
    stopping: bool
    due: bool  # pending and may be claimed at once
    last_step_at: dt.datetime | None
    time: Worktime

    @property
    def label(self) -> str:
        """`T-42`."""
        return task_label(self.task_number)

    @property
    def alive(self) -> bool:
        """Whether a worker holds a live lease on it."""
        return self.status is RunStatus.RUNNING and self.silent_s < LEASE_S


@dataclass(frozen=True)
class OpenAsk:
    """The oldest open decision of an agent or task."""

    id: str
    kind: str
    title: str
    opened_at: dt.datetime
    parked: bool
    decider: str

    @property
    def with_lead_agent(self) -> bool:
        """Whether the lead agent decides; a person may answer all the same."""
        return self.decider == Decider.LEAD

    @property
    def is_review(self) -> bool:
        """Whether its task is reported as completed, and a person is to look at it."""
        return self.kind == DecisionKind.REVIEW


@dataclass(frozen=True)
class AgentCard:
    """All that a card says about an agent."""

    pk: int
    team_id: int
    team_slug: str
    team_name: str
    team_ended: bool  # no task of its team is left to do
    rehearsal: bool
    name: str
    role: str
    model: str
    plan_mode: bool
    state: AgentState
    note: str  # the reason behind the state, in words; may be empty
    run: OpenRun | None
    ask: OpenAsk | None
    now: str
    context: ContextUse
    used_tokens: int
    cached_tokens: int
    used_usd: Decimal | None  # None: never reported
    cost_partial: bool  # it has cost at least this
    last_event_at: dt.datetime | None
    over: bool

    @property
    def can_stop(self) -> bool:
        """Whether stopping it ends anything or keeps anything from starting."""
        return self.state is not AgentState.STOPPED and (self.run is not None or not self.team_ended)


@once
def of_teams(team_ids: Collection[int]) -> list[AgentCard]:
    """Return the agents of these teams in their order; three queries."""
    return _cards(Agent.objects.filter(team_id__in=team_ids))


def by_ids(agent_ids: Iterable[int]) -> dict[int, AgentCard]:
    """Return the agents of these ids that exist, by id; three queries, none for those that this look has read already."""
    wanted, known = set(agent_ids), shelf(AgentCard)
    found = {pk: known[pk] for pk in wanted if pk in known}
    if left := wanted - set(found):
        found |= {card.pk: card for card in _cards(Agent.objects.filter(pk__in=left))}
    return found


def ids_of_teams(team_ids: Collection[int]) -> dict[int, list[int]]:
    """Return the ids of the agents of each team, in their order; one query."""
    found: dict[int, list[int]] = {team_id: [] for team_id in team_ids}
    for pk, team_id in Agent.objects.filter(team_id__in=team_ids).values_list("pk", "team_id"):
        found[team_id].append(pk)
    return found


def open_runs(where: Q) -> list[tuple[int, int, OpenRun]]:
    """Return (agent id, team id, run) of the open runs that match; one query."""
    found = Run.objects.filter(where, status__in=OPEN_RUNS).annotate(database_s=DatabaseNow(), **worktime.ADDED)
    rows = found.values_list("agent_id", "team_id", *_OF_RUN, "stop_asked_at", "due_at", "last_step_at", *worktime.Facts._fields)
    return [(agent_id, team_id, _open_run(row)) for agent_id, team_id, *row in rows]


_OF_RUN = ("id", "task_id", "task__number", "task__title", "attempt", "task__expected_min", "task__expected_max")


def _open_run(row: list[Any]) -> OpenRun:
    id_, task_id, number, title, attempt, low, high, stop_asked_at, due_at, last_step_at, *columns = row
    facts = worktime.Facts(*columns)
    return OpenRun(
        id=id_,
        task_id=task_id,
        task_number=number,
        task_title=title,
        attempt=attempt,
        status=RunStatus(facts.status),
        started_at=facts.started_at,
        expected_min=low,
        expected_max=high,
        silent_s=facts.silent_s,
        stopping=stop_asked_at is not None,
        due=due_at <= facts.database_s,
        last_step_at=last_step_at,
        time=worktime.read(facts),
    )


def open_asks(where: Q) -> list[tuple[int | None, int | None, OpenAsk]]:
    """Return (agent id, task id, decision) of the open decisions that match: a person's first, then oldest first; one query.

    A decision that several runs wait for together is there for each of them. `where` fits decisions and runs.
    """
    words = ("id", "kind", "title", "opened_at", "parked", "decider")
    own = Decision.objects.filter(where, status=DecisionStatus.OPEN.value).order_by()
    open_ = Run.objects.filter(where, status__in=OPEN_RUNS)
    joined = open_.filter(status=RunStatus.PENDING.value, waits_for__status=DecisionStatus.OPEN.value)
    rows = own.values_list("agent_id", "task_id", *words).union(
        joined.values_list("agent_id", "task_id", *(f"waits_for__{word}" for word in words)), all=True
    )
    found = [
        (row[0], row[1], OpenAsk(row[2], row[3], one_line(row[4], 300), *row[5:])) for row in rows.order_by("opened_at", "id")
    ]
    return sorted(found, key=lambda row: row[2].with_lead_agent)


def _cards(agents: QuerySet[Agent]) -> list[AgentCard]:
    found = [_Row(*row) for row in agents.values_list(*_Row._fields)]
    ids = [agent.pk for agent in found]
    runs = {agent_id: run for agent_id, _, run in open_runs(Q(agent_id__in=ids))}
    asks = {agent_id: ask for agent_id, _, ask in reversed(open_asks(Q(agent_id__in=ids)))}
    with through(under_way()):
        cards = [_card(agent, runs.get(agent.pk), asks.get(agent.pk)) for agent in found]
    shelf(AgentCard).update({card.pk: card for card in cards})
    return cards


def _card(agent: _Row, run: OpenRun | None, ask: OpenAsk | None) -> AgentCard:
    state, note = state_of(AgentStatus(agent.status), run, ask)
    return AgentCard(
        pk=agent.pk,
        team_id=agent.team_id,
        team_slug=agent.team__slug,
        team_name=agent.team__name,
        team_ended=agent.team__ended_at is not None,
        rehearsal=agent.team__rehearsal,
        name=agent.name,
        role=agent.role,
        model=agent.model,
        plan_mode=agent.plan_mode,
        state=state,
        note=note,
        run=run,
        ask=ask,
        now=_now_text(agent.now_text, state, run, ask),
        context=ContextUse(agent.context_tokens, agent.context_window, agent.compacted_at),
        used_tokens=agent.used_tokens,
        cached_tokens=agent.cached_tokens,
        used_usd=agent.used_usd if agent.cost_known else None,
        cost_partial=agent.cost_partial,
        last_event_at=max(filter(None, (agent.last_event_at, run.started_at if run else None)), default=None),
        over=run is not None and over_time(run.time.worked_s, run.expected_max),
    )


def state_of(status: AgentStatus, run: OpenRun | None, ask: OpenAsk | None) -> tuple[AgentState, str]:
    """Return the state of an agent and the reason behind it, which may be empty. "Working" needs a live lease."""
    if ask is not None:
        state, whose = (AgentState.WITH_LEAD, "the") if ask.with_lead_agent else (AgentState.WAITING, "your")
        return state, f"parked: {whose} answer is kept until the agent goes on" if ask.parked else ""
    if run is not None and run.alive:
        return AgentState.WORKING, "stopping" if run.stopping else ""
    if run is not None and run.status is RunStatus.RUNNING:
        return AgentState.LOST, "another worker takes it up" if workers.answering() else workers.NOBODY
    if status is AgentStatus.STOPPED:
        return AgentState.STOPPED, "stopped by the lead"
    if run is not None:
        if run.due and not workers.answering():
            return AgentState.IDLE, f"{run.label}: {workers.NOBODY}"
        return AgentState.IDLE, f"{run.label} waits for a free worker" if run.due else f"{run.label} goes on later"
    return AgentState.IDLE, ""


def _now_text(text: str, state: AgentState, run: OpenRun | None, ask: OpenAsk | None) -> str:
    if ask is not None:
        return ask.title
    if state is AgentState.WORKING and run is not None:
        return text or run.task_title
    return run.task_title if run is not None else ""
