"""Agents as pages show them: what each does now, how full its context is, what it has used."""

import datetime as dt
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Q

from tasks_app.domain.statuses import AgentStatus, RunStatus
from tasks_app.models import Agent
from tasks_app.selectors import open_work, workers
from tasks_app.selectors.compiled import Compiled
from tasks_app.selectors.look import once, shelf, through, under_way
from tasks_app.selectors.open_work import AskOf, OpenAsk, OpenRun, RunOf
from tasks_app.selectors.states import AgentState, ContextUse, over_time


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
    found = [_Row(*row) for row in _OF_TEAMS.values(team_ids)]
    return _cards(found, open_work.runs_of_teams(team_ids), open_work.asks_of_teams(team_ids))


def by_ids(agent_ids: Iterable[int]) -> dict[int, AgentCard]:
    """Return the agents of these ids that exist, by id; three queries, none for those that this look has read already."""
    wanted, known = set(agent_ids), shelf(AgentCard)
    found = {pk: known[pk] for pk in wanted if pk in known}
    if left := wanted - set(found):
        rows = [_Row(*row) for row in Agent.objects.filter(pk__in=left).values_list(*_Row._fields)]
        theirs = Q(agent_id__in=[agent.pk for agent in rows])
        found |= {card.pk: card for card in _cards(rows, open_work.runs(theirs), open_work.asks(theirs))}
    return found


def ids_of_teams(team_ids: Collection[int]) -> dict[int, list[int]]:
    """Return the ids of the agents of each team, in their order; one query."""
    found: dict[int, list[int]] = {team_id: [] for team_id in team_ids}
    for pk, team_id in Agent.objects.filter(team_id__in=team_ids).values_list("pk", "team_id"):
        found[team_id].append(pk)
    return found


_OF_TEAMS = Compiled(lambda team_ids: Agent.objects.filter(team_id__in=team_ids).values_list(*_Row._fields))


def _cards(agents: Sequence[_Row], runs: Sequence[RunOf], asks: Sequence[AskOf]) -> list[AgentCard]:
    run_of = {agent_id: run for agent_id, _, run in runs}
    ask_of = {agent_id: ask for agent_id, _, ask in reversed(asks)}
    with through(under_way()):
        cards = [_card(agent, run_of.get(agent.pk), ask_of.get(agent.pk)) for agent in agents]
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
