"""Teams: their making and their status. Sole writer of these columns."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import Error, transaction
from django.utils import timezone

from tasks_app.domain import names
from tasks_app.domain.errors import Conflict, NotFound
from tasks_app.domain.events import EventKind
from tasks_app.domain.plan_model import Plan
from tasks_app.domain.statuses import OPEN_RUN, DecisionStatus, TaskStatus, TeamStatus
from tasks_app.models import Agent, Decision, Run, Task, Team, TeamAccess
from tasks_app.services import events, keys, workspaces

logger = logging.getLogger(__name__)

EVENT_OF = {
    TeamStatus.PAUSED: EventKind.TEAM_PAUSED,
    TeamStatus.ACTIVE: EventKind.TEAM_RESUMED,
    TeamStatus.STOPPED: EventKind.TEAM_STOPPED,
}


_ARCHIVED = "This team is archived. Restore it first."
RESERVED = ("import", "new")
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
        messaging=plan.messages.model_dump(mode="json"),
        decides=plan.decides.model_dump(mode="json"),
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


def get(team_id: int) -> Team:
    """Return the team; raises `NotFound`."""
    team = Team.objects.filter(pk=team_id).first()
    if team is None:
        raise NotFound("This team does not exist any more.")
    return team


def drop_folder_of_none(slug: str) -> None:
    """Remove the folder that was prepared for a team, where no team has come of it.

    The database says whether one has: a commit whose answer was lost may be done. Where it does not answer, the folder stays.
    """
    try:
        unused = not Team.objects.filter(slug=slug).exists()
    except Error:
        logger.warning("the folder of a team %s stays: the database does not say whether there is such a team", slug)
        return
    if unused:
        workspaces.remove(slug)


@transaction.atomic
def set_status(team_id: int, *, status: TeamStatus, actor: str) -> Team:
    """active ↔ paused, any → stopped. Raises `Conflict` where it is so already, or the team is archived."""
    team = events.lock(team_id)
    if team.archived_at is not None:
        raise Conflict(_ARCHIVED)
    if not Team.objects.filter(pk=team_id).exclude(status=status.value).update(status=status.value):
        if status is TeamStatus.ACTIVE and team.ended_at is not None:
            raise Conflict(f"{team.name} has finished: reopen a task or add one, and it goes on.")
        raise Conflict(f"{team.name} is {status.value} already.")
    events.append(team_id, EVENT_OF[status], actor=actor, keys=(keys.agents(team_id), keys.tasks(team_id), keys.TEAMS))
    return team


@transaction.atomic
def archive(team_id: int, *, actor: str) -> None:
    """Put a team that has ended aside: it leaves the lists, its pages stay. Raises `Conflict` that names what is still open."""
    team = events.lock(team_id)
    if team.archived_at is not None:
        raise Conflict(f"{team.name} is archived already.")
    _must_have_ended(team)
    Team.objects.filter(pk=team_id).update(archived_at=timezone.now())
    events.append(team_id, EventKind.TEAM_ARCHIVED, actor=actor, keys=(keys.TEAMS,))


@transaction.atomic
def restore(team_id: int, *, actor: str) -> None:
    """Bring an archived team back into the lists; it stays as paused, stopped or ended as it was. Raises `Conflict`."""
    team = events.lock(team_id)
    if not Team.objects.filter(pk=team_id, archived_at__isnull=False).update(archived_at=None):
        raise Conflict(f"{team.name} is not archived.")
    events.append(team_id, EventKind.TEAM_RESTORED, actor=actor, keys=(keys.TEAMS,))


def _must_have_ended(team: Team) -> None:
    run = Run.objects.select_related("agent", "task").filter(team=team, status__in=[status.value for status in OPEN_RUN]).first()
    if run is not None:
        raise Conflict(f"{run.agent.name} has an open attempt at {run.task.label}. Stop the team, or wait until it has ended.")
    asked = Decision.objects.filter(team=team, status=DecisionStatus.OPEN.value).first()
    if asked is not None:
        raise Conflict(f"A request waits for an answer: {asked.title}. Answer it, or stop the team.")
    if team.status != TeamStatus.STOPPED.value:
        unfinished = (TaskStatus.PENDING.value, TaskStatus.IN_PROGRESS.value)
        left = Task.objects.filter(team=team, status__in=unfinished).order_by("number").first()
        if left is not None:
            raise Conflict(f"{left.label} {left.title} is not done. Finish or cancel what is left, or stop the team.")


def work_again(team_id: int) -> None:
    """There is unfinished work again (a task was added or reopened). Raises `Conflict` for an archived team."""
    if not Team.objects.filter(pk=team_id, archived_at=None).update(ended_at=None):
        raise Conflict(_ARCHIVED)


def agent_ids(team_id: int) -> dict[str, int]:
    """Return agent name → primary key."""
    return dict(Agent.objects.filter(team_id=team_id).values_list("name", "pk"))
