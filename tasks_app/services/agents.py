"""Agents: sole writer of their columns."""

from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from tasks_app.domain.errors import Conflict, NotFound
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import AgentStatus
from tasks_app.domain.text import one_line
from tasks_app.models import Agent
from tasks_app.services import events, keys

NOW_LIMIT = 200


def get(agent_id: int) -> Agent:
    """Return the agent with its team; raises NotFound."""
    agent = Agent.objects.select_related("team").filter(pk=agent_id).first()
    if agent is None:
        raise NotFound("This agent does not exist any more.")
    return agent


def now(agent_id: int, text: str) -> None:
    """Say in one line what the agent does right now."""
    Agent.objects.filter(pk=agent_id).update(now_text=one_line(text, NOW_LIMIT), last_event_at=timezone.now())


def add_usage(agent_id: int, *, tokens: int, cached: int, usd: Any, cost_known: bool) -> None:
    """Add what a run of the agent used."""
    changes: dict[str, Any] = {
        "used_tokens": F("used_tokens") + tokens,
        "cached_tokens": F("cached_tokens") + cached,
        "used_usd": F("used_usd") + usd,
    }
    if cost_known:
        changes["cost_known"] = True
    Agent.objects.filter(pk=agent_id).update(**changes)


def set_context(agent_id: int, *, tokens: int | None, window: int | None) -> None:
    """Keep the context usage; None means unknown (before the first response, after compaction)."""
    changes: dict[str, Any] = {"context_tokens": tokens}
    if window:
        changes["context_window"] = window
    if tokens is None:
        changes["compacted_at"] = timezone.now()
    Agent.objects.filter(pk=agent_id).update(**changes)


def set_window(agent_id: int, window: int) -> None:
    """Keep the model's window as its process reports it."""
    Agent.objects.filter(pk=agent_id).update(context_window=window)


def set_session(agent_id: int, *, session_id: str, handover: str) -> None:
    """Remember the session that the next task goes on in, and what a fresh one would have to be told."""
    Agent.objects.filter(pk=agent_id).update(session_id=session_id, handover=handover)


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
