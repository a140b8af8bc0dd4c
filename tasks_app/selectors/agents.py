"""Agents as pages show them: what each does now, how full its context is, what it has used."""

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import F, Q, QuerySet

from tasks_app.domain.deciders import Decider
from tasks_app.domain.ids import task_label
from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import OPEN_RUN, AgentStatus, DecisionKind, DecisionStatus, RunStatus
from tasks_app.domain.text import one_line
from tasks_app.models import Agent, Decision, Run
from tasks_app.selectors import workers, worktime
from tasks_app.selectors.clock import DatabaseNow
from tasks_app.selectors.look import once, shelf, through, under_way
from tasks_app.selectors.states import AgentState, ContextUse, over_time
from tasks_app.selectors.worktime import Worktime

SILENT_S = DatabaseNow() - F("lease_until") + LEASE_S
"""Seconds since a run's last heartbeat, as an expression."""
SHOWN = (
    "team_id", "name", "role", "model", "plan_mode", "status", "now_text", "context_tokens", "context_window", "compacted_at",
    "used_tokens", "cached_tokens", "used_usd", "cost_known", "cost_partial", "last_event_at", "position",
    "team__slug", "team__name", "team__rehearsal", "team__ended_at",
)  # fmt: skip
"""What a card says: nothing else is read, for an agent's instructions and its team's plan may be long."""


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
        return _alive(self.status, self.silent_s)


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
    rows = (
        Run.objects.filter(where, status__in=[status.value for status in OPEN_RUN])
        .annotate(silent_s=SILENT_S, due_in=F("due_at") - DatabaseNow(), **worktime.columns())
        .values_list(
            "agent_id",
            "team_id",
            "id",
            "task_id",
            "task__number",
            "task__title",
            "attempt",
            "status",
            "started_at",
            "task__expected_min",
            "task__expected_max",
            "silent_s",
            "stop_asked_at",
            "due_in",
            "last_step_at",
            *worktime.COLUMNS,
        )
    )
    return [(row[0], row[1], _open_run(row)) for row in rows]


def _open_run(row: tuple[Any, ...]) -> OpenRun:
    status = RunStatus(row[7])
    time = worktime.read(*row[15:], alive=_alive(status, row[11]), began=row[8], ended=None)
    words = dict(zip(_OF_RUN, row[2:12], strict=True)) | {"status": status}
    return OpenRun(**words, stopping=row[12] is not None, due=row[13] <= 0, last_step_at=row[14], time=time)


_OF_RUN = (
    *("id", "task_id", "task_number", "task_title", "attempt", "status"),
    *("started_at", "expected_min", "expected_max", "silent_s"),
)


def _alive(status: RunStatus, silent_s: float) -> bool:
    return status is RunStatus.RUNNING and silent_s < LEASE_S


def open_asks(where: Q) -> list[tuple[int | None, int | None, OpenAsk]]:
    """Return (agent id, task id, decision) of the open decisions that match: a person's first, then oldest first; one query.

    A decision that several runs wait for together is there for each of them. `where` fits decisions and runs.
    """
    words = ("id", "kind", "title", "opened_at", "parked", "decider")
    own = Decision.objects.filter(where, status=DecisionStatus.OPEN.value).order_by()
    joined = Run.objects.filter(where, status=RunStatus.PENDING.value, waits_for__status=DecisionStatus.OPEN.value)
    rows = own.values_list("agent_id", "task_id", *words).union(
        joined.values_list("agent_id", "task_id", *(f"waits_for__{word}" for word in words)), all=True
    )
    found = [
        (row[0], row[1], OpenAsk(row[2], row[3], one_line(row[4], 300), *row[5:])) for row in rows.order_by("opened_at", "id")
    ]
    return sorted(found, key=lambda row: row[2].with_lead_agent)


def _cards(agents: QuerySet[Agent]) -> list[AgentCard]:
    found = list(agents.select_related("team").only(*SHOWN))
    ids = [agent.pk for agent in found]
    runs = {agent_id: run for agent_id, _, run in open_runs(Q(agent_id__in=ids))}
    asks = {agent_id: ask for agent_id, _, ask in reversed(open_asks(Q(agent_id__in=ids)))}
    with through(under_way()):
        cards = [_card(agent, runs.get(agent.pk), asks.get(agent.pk)) for agent in found]
    shelf(AgentCard).update({card.pk: card for card in cards})
    return cards


def _card(agent: Agent, run: OpenRun | None, ask: OpenAsk | None) -> AgentCard:
    state, note = state_of(AgentStatus(agent.status), run, ask)
    return AgentCard(
        pk=agent.pk,
        team_id=agent.team_id,
        team_slug=agent.team.slug,
        team_name=agent.team.name,
        team_ended=agent.team.ended_at is not None,
        rehearsal=agent.team.rehearsal,
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
