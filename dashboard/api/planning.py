"""Endpoints that change the plan of a running team: a new task, what one that waits says, what it waits for."""

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Router, Status
from pydantic import Field

from dashboard.api.base import Body, ErrorAnswer, Pk, team_of
from dashboard.api.tasks import agent_named, task_of
from dashboard.idempotency import key_of
from tasks_app.domain import criteria_lines
from tasks_app.domain.budget import MAX_TOKENS, MAX_USD, MIN_USD
from tasks_app.services import actions, drafts, task_edits
from tasks_app.services.tasks import Draft

of_team, of_task = Router(), Router()
ERRORS = {403: ErrorAnswer, 404: ErrorAnswer, 409: ErrorAnswer, 413: ErrorAnswer, 422: ErrorAnswer}
Lines = list[str]
Minutes = tuple[float, float]


class Words(Body):
    """What a task says; what is left out stays as it is, or is the usual. A criterion is a text, or `check: COMMAND`,
    `artifact: PATH`, `judge NAME: TEXT`. `role` and `assignee`: who may do it, who must; empty: any."""

    title: str | None = None
    description: str | None = None
    criteria: Lines | None = None
    role: str | None = None
    assignee: str | None = None
    priority: int | None = None
    minutes: Minutes | None = None


class NewTask(Words):
    """A new task; `depends_on` holds labels such as `T-3`."""

    title: str
    criteria: Lines
    depends_on: Lines = []
    budget_usd: float | None = Field(default=None, ge=float(MIN_USD), le=int(MAX_USD))
    budget_tokens: int | None = Field(default=None, gt=0, le=MAX_TOKENS)


class Needs(Body):
    """Labels of the tasks that it is to wait for."""

    needs: Lines = Field(min_length=1)


@of_team.post("/{slug}/tasks", response={201: dict[str, Any], **ERRORS})
def add(request: HttpRequest, slug: str, body: NewTask) -> Status[dict[str, Any]]:
    """Add a task to a running team. `findings`: what could be written better in it."""
    team_id, viewer = team_of(request, slug, act=True)
    needs = drafts.needs(team_id, body.depends_on)
    money: dict[str, Any] = {"budget_usd": body.budget_usd, "budget_tokens": body.budget_tokens}
    draft = Draft(**{"title": "", **_given(team_id, body)}, depends_on=needs, **money)
    task = actions.add_task(team_id, draft, actor=viewer.actor, idempotency_key=key_of(request))
    return Status(201, {"id": task.label, "pk": task.pk, "findings": _findings(draft, task.label, task.pk)})


@of_task.patch("/{pk}", response={200: dict[str, Any], **ERRORS})
def edit(request: HttpRequest, pk: Pk, body: Words) -> dict[str, Any]:
    """Change what a task that waits says. 409 once an attempt has begun or it is over."""
    card, viewer = task_of(request, pk)
    task = actions.edit_task(pk, _given(card.team_id, body), actor=viewer.actor)
    return {"id": task.label, "findings": _findings(drafts.of(task), task.label, task.pk)}


@of_task.post("/{pk}/dependencies", response={200: dict[str, Any], **ERRORS})
def depend(request: HttpRequest, pk: Pk, body: Needs) -> dict[str, Any]:
    """Let it wait for other tasks too. 422 names the whole path where that would close a circle."""
    card, viewer = task_of(request, pk)
    task_edits.add_dependencies(pk, needs=drafts.needs(card.team_id, body.needs), actor=viewer.actor)
    return {"id": card.label}


@of_task.delete("/{pk}/dependencies/{label}", response={200: dict[str, Any], **ERRORS})
def unblock(request: HttpRequest, pk: Pk, label: str) -> dict[str, Any]:
    """Let it no longer wait for another task; it may start at once."""
    card, viewer = task_of(request, pk)
    actions.unblock(pk, needs=drafts.needs(card.team_id, [label])[0], actor=viewer.actor)
    return {"id": card.label}


def _given(team_id: int, body: Words) -> dict[str, Any]:
    """Return the fields of a task that the body names."""
    given: dict[str, Any] = {
        name: value for name in ("title", "description", "role", "priority") if (value := getattr(body, name)) is not None
    }
    if body.criteria is not None:
        given["criteria"] = criteria_lines.read("\n".join(one.replace("\n", " ") for one in body.criteria))
    if body.assignee is not None:
        given["assignee_id"] = agent_named(team_id, body.assignee) if body.assignee else None
    if body.minutes is not None:
        given["expected_min"], given["expected_max"] = body.minutes
    return given


def _findings(draft: Draft, label: str, pk: int) -> list[dict[str, Any]]:
    return [asdict(one) for one in drafts.findings(draft, label=label, task_id=pk)]
