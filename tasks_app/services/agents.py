"""Agents: sole writer of their columns."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from tasks_app.domain.context import Reading
from tasks_app.domain.deciders import is_lead
from tasks_app.domain.errors import Conflict, NotFound
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import AgentStatus
from tasks_app.domain.text import one_line
from tasks_app.models import Agent, Task
from tasks_app.models.teams import LARGE_OF_TEAM
from tasks_app.services import events, keys, rows
from tasks_app.services.usage import Spent

NOW_LIMIT = 200


def get(agent_id: int) -> Agent:
    """Return the agent with its team; raises NotFound."""
    agent = Agent.objects.select_related("team").defer(*LARGE_OF_TEAM).filter(pk=agent_id).first()
    if agent is None:
        raise NotFound("This agent does not exist any more.")
    return agent


def for_work(agent_id: int, team_id: int) -> Agent:
    """Return the agent of the team, who can be given work. Raises `NotFound`, or `Conflict` for one that is stopped."""
    agent = Agent.objects.filter(pk=agent_id, team_id=team_id).first()
    if agent is None:
        raise NotFound("There is no such agent in this team.", field="agent")
    if agent.status != AgentStatus.ACTIVE.value:
        raise Conflict(f"{agent.name} is stopped. Start it again, or choose another.", field="agent")
    return agent


def may_take(agent: Agent, task: Task) -> bool:
    """Whether the task is for that agent: given to it, or of its role; one for anybody is not for the lead agent."""
    if task.assignee_id:
        return agent.pk == task.assignee_id
    return agent.role == task.role if task.role else not is_lead(agent.role)


def takes(agent_ids: Sequence[int], roles: Sequence[str]) -> Q:
    """Match the tasks that at least one of these agents `may_take`; `roles`: their `roles_of`."""
    return Q(assignee__in=agent_ids) | Q(assignee=None, role__in=roles)


def roles_of(agents: Sequence[Agent]) -> list[str]:
    """Return the roles of these agents, sorted, with "" (a task for anybody) where one of them does such work."""
    return sorted({agent.role for agent in agents} | ({""} if any(not is_lead(agent.role) for agent in agents) else set()))


def now(agent_id: int, text: str) -> None:
    """Say in one line what the agent does right now."""
    put = {"now_text": one_line(text, NOW_LIMIT), "last_event_at": timezone.now()}
    rows.change(Agent, {"id": agent_id}, rows.Changes(put))


def went_on(agent_id: int, *, now: str, spent: Spent, reading: Reading | None) -> None:
    """Keep what some steps of its run say: what it does right now ("": nothing new), what it used, how full its context is."""
    put: dict[str, Any] = {}
    if now:
        put |= {"now_text": one_line(now, NOW_LIMIT), "last_event_at": timezone.now()}
    if spent.cost_known:
        put["cost_known"] = True
    if reading and reading.window:
        put["context_window"] = reading.window
    if reading and reading.measured:
        put["context_tokens"] = reading.tokens
        put |= {"compacted_at": timezone.now()} if reading.tokens is None else {}
    used = {"used_tokens": spent.tokens.total, "cached_tokens": spent.tokens.cached, "used_usd": spent.usd} if spent else {}
    if put or used:
        rows.change(Agent, {"id": agent_id}, rows.Changes(put, used))


def set_session(agent_id: int, *, session_id: str, handover: str) -> None:
    """Remember the session that the next task goes on in, and what a fresh one would have to be told."""
    rows.change(Agent, {"id": agent_id}, rows.Changes({"session_id": session_id, "handover": handover}))


def put_back(agent_id: int, *, session_id: str, handover: str, tokens: int | None, window: int | None) -> None:
    """Let the next task go on where a checkpoint says that the agent stood."""
    known = {"context_tokens": tokens, "context_window": window}
    Agent.objects.filter(pk=agent_id).update(session_id=session_id, handover=handover, now_text="", **known)


def forget_session(agent_id: int) -> None:
    """After a failure the next task starts in a fresh session: what went wrong must not go on."""
    Agent.objects.filter(pk=agent_id).update(session_id="")


@transaction.atomic
def set_status(agent_id: int, *, status: AgentStatus, actor: str) -> None:
    """active ↔ stopped. Raises `Conflict` where it is so already."""
    agent = get(agent_id)
    events.lock(agent.team_id)
    if not Agent.objects.filter(pk=agent_id).exclude(status=status.value).update(status=status.value):
        raise Conflict(f"{agent.name} is {status.value} already.")
    kind = EventKind.AGENT_STOPPED if status is AgentStatus.STOPPED else EventKind.AGENT_RESUMED
    events.append(agent.team_id, kind, actor=actor, keys=(keys.agent(agent_id), keys.agents(agent.team_id)), agent_id=agent_id)
