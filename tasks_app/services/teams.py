"""Teams: their making and their status. Sole writer of these columns."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from tasks_app.domain import names
from tasks_app.domain.errors import Conflict
from tasks_app.domain.events import EventKind
from tasks_app.domain.plan_model import Plan
from tasks_app.domain.statuses import TeamStatus
from tasks_app.models import Agent, Team, TeamAccess
from tasks_app.services import events, keys

EVENT_OF = {
    TeamStatus.PAUSED: EventKind.TEAM_PAUSED,
    TeamStatus.ACTIVE: EventKind.TEAM_RESUMED,
    TeamStatus.STOPPED: EventKind.TEAM_STOPPED,
}


RESERVED = ("new",)
"""Addresses below /teams/ that are pages of their own."""


@dataclass(frozen=True)
class Source:
    """Where a plan came from: its text, the folder that its relative paths mean, and the rehearsal script itself."""

    text: str
    base: Path
    script: str = ""


def reserve_slug(plan: Plan, *, taken: Collection[str] = ()) -> str:
    """Return a free URL name for the team that is not in `taken` either."""
    return names.slug(plan.team, {*RESERVED, *Team.objects.values_list("slug", flat=True), *taken})


def create(plan: Plan, *, slug: str, source: Source, workspace: Path, user_id: int | None, rehearsal: bool, actor: str) -> Team:
    """Make the team and its agents; called inside the transaction that also makes its tasks."""
    team = Team.objects.create(
        slug=slug,
        name=names.unique(plan.team, Team.objects.values_list("name", flat=True)),
        goal=plan.goal,
        plan=source.text,
        source_path=str(source.base),
        workspace=str(workspace),
        workspace_mode=plan.workspace.mode,
        rehearsal=rehearsal,
        rehearsal_script=source.script,
        limits=plan.limits.model_dump(mode="json"),
        permissions=plan.permissions.model_dump(mode="json"),
        budget_usd=plan.budget.usd,
        budget_tokens=plan.budget.tokens,
        created_by_id=user_id,
        created_at=timezone.now(),
    )
    if user_id is not None:
        TeamAccess.objects.create(team=team, user_id=user_id, level="lead")
    Agent.objects.bulk_create([_agent(team, agent, place) for place, agent in enumerate(plan.agents)])
    data: Mapping[str, Any] = {"name": team.name, "tasks": len(plan.tasks), "agents": len(plan.agents), "rehearsal": rehearsal}
    events.append(team.pk, EventKind.TEAM_STARTED, actor=actor, keys=(keys.TEAMS,), data=data)
    return team


def _agent(team: Team, agent: Any, place: int) -> Agent:
    return Agent(
        team=team,
        name=agent.name,
        role=agent.role,
        model=agent.model or "",
        instructions=agent.instructions,
        plan_mode=agent.plan_mode,
        tools=list(agent.tools) if agent.tools is not None else None,
        permissions=agent.permissions.model_dump(mode="json"),
        position=place,
    )


@transaction.atomic
def set_status(team_id: int, *, status: TeamStatus, actor: str) -> Team:
    """active ↔ paused, any → stopped. Raises `Conflict` where it is so already."""
    team = events.lock(team_id)
    if not Team.objects.filter(pk=team_id).exclude(status=status.value).update(status=status.value):
        raise Conflict(f"{team.name} is {status.value} already.")
    events.append(team_id, EVENT_OF[status], actor=actor, keys=(keys.agents(team_id), keys.tasks(team_id), keys.TEAMS))
    return team


def work_again(team_id: int) -> None:
    """There is unfinished work again (a task was added or reopened)."""
    Team.objects.filter(pk=team_id).update(ended_at=None)


def agent_ids(team_id: int) -> dict[str, int]:
    """Return agent name → primary key."""
    return dict(Agent.objects.filter(team_id=team_id).values_list("name", "pk"))
