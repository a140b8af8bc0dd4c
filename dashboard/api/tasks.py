"""Endpoints on tasks and their runs: start, complete, reassign, cancel, reopen, stop."""

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Router, Status
from pydantic import Field

from dashboard.access import Viewer, require_team
from dashboard.api.base import Body, ErrorAnswer, Pk, viewer_of
from dashboard.idempotency import key_of
from tasks_app.domain.errors import Invalid, NotFound
from tasks_app.domain.text import clean
from tasks_app.execution import handover
from tasks_app.selectors import journal, tasks
from tasks_app.services import actions, task_edits

router = Router()
ERRORS = {403: ErrorAnswer, 404: ErrorAnswer, 409: ErrorAnswer, 422: ErrorAnswer}


class Start(Body):
    """Which agent takes the task."""

    agent: str = Field(max_length=60)


class Words(Body):
    """The lead's words."""

    note: str = Field(default="", max_length=20_000)


class Reassign(Body):
    """To whom (empty: any suitable agent), with what guidance, from which state of the files."""

    agent: str = Field(default="", max_length=60)
    guidance: str = Field(default="", max_length=20_000)
    start: Literal["clean", "last"] = "clean"


class Guidance(Body):
    """The lead's words for the next attempt; `seen` is that of the hand-over they were written for."""

    guidance: str = Field(max_length=20_000)
    seen: str = Field(max_length=64)


def task_of(request: HttpRequest, pk: int, *, act: bool = True) -> tuple[tasks.TaskCard, Viewer]:
    """Return a task that may be acted on (`act=False`: seen), and who asks. Raises `NotFound` or `Forbidden`."""
    viewer, card = viewer_of(request), tasks.one(pk)
    if card is None:
        raise NotFound("There is no such task, or you have no access to it.", field="task")
    require_team(viewer, card.team_id, act=act)
    return card, viewer


def agent_named(team_id: int, name: str) -> int:
    """Return the agent of that name in the team. Raises `Invalid`."""
    found = journal.agent_named(team_id, name := clean(name))
    if found is None:
        raise Invalid(f"There is no agent “{name}” in this team.", field="agent")
    return found


@router.post("/{pk}/start", response={201: dict[str, Any], **ERRORS})
def start(request: HttpRequest, pk: Pk, body: Start) -> Status[dict[str, Any]]:
    """Give a ready task to an agent. 409 names what blocks it, or who has it."""
    card, viewer = task_of(request, pk)
    run = actions.start_task(pk, agent_id=agent_named(card.team_id, body.agent), actor=viewer.actor)
    return Status(201, {"run": run.pk, "attempt": run.attempt})


@router.get("/{pk}/handover", response={200: dict[str, Any], **ERRORS})
def told(request: HttpRequest, pk: Pk) -> dict[str, Any]:
    """What the next attempt will be told, whole and in parts; the lead's guidance in it, and `seen`, which names its version."""
    task_of(request, pk, act=False)
    found = handover.told(pk)
    parts = [{"title": part.title, "text": part.text} for part in found.parts]
    return {
        "attempt": found.attempt,
        "agent": found.agent,
        "guidance": found.guidance,
        "seen": found.seen,
        "text": found.text,
        "parts": parts,
    }


@router.put("/{pk}/guidance", response={200: dict[str, Any], **ERRORS})
def guidance(request: HttpRequest, pk: Pk, body: Guidance) -> dict[str, Any]:
    """Set the guidance of an attempt that has not started. 409 where it was changed since, or has started."""
    _, viewer = task_of(request, pk)
    task_edits.set_guidance(pk, body.guidance, made_from=body.seen, actor=viewer.actor)
    return {"seen": task_edits.seen_of(pk)}


@router.post("/{pk}/complete", response={200: dict[str, Any], **ERRORS})
def complete(request: HttpRequest, pk: Pk, body: Words) -> dict[str, Any]:
    """Complete it by hand. 409 while a dependency is open."""
    _, viewer = task_of(request, pk)
    actions.complete_by_hand(pk, note=body.note, actor=viewer.actor)
    return {"status": "completed"}


@router.post("/{pk}/cancel", response={200: dict[str, Any], **ERRORS})
def cancel(request: HttpRequest, pk: Pk, body: Words) -> dict[str, Any]:
    """Give it up; a running attempt is stopped."""
    _, viewer = task_of(request, pk)
    actions.cancel(pk, why=body.note, actor=viewer.actor)
    return {"status": "cancelled"}


@router.post("/{pk}/reopen", response={200: dict[str, Any], **ERRORS})
def reopen(request: HttpRequest, pk: Pk, body: Words) -> dict[str, Any]:
    """Let a finished task be done again."""
    _, viewer = task_of(request, pk)
    actions.reopen(pk, why=body.note, actor=viewer.actor)
    return {"status": "pending"}


@router.post("/{pk}/reassign", response={200: dict[str, Any], **ERRORS})
def reassign(request: HttpRequest, pk: Pk, body: Reassign) -> dict[str, Any]:
    """Give an unfinished task to another agent, with guidance."""
    card, viewer = task_of(request, pk)
    agent_id = agent_named(card.team_id, body.agent) if body.agent else None
    key = key_of(request)
    actions.reassign(pk, agent_id=agent_id, guidance=body.guidance, start=body.start, actor=viewer.actor, idempotency_key=key)
    return {"to": body.agent or "any free agent"}


@router.post("/{pk}/stop", response={200: dict[str, Any], **ERRORS})
def stop(request: HttpRequest, pk: Pk) -> dict[str, Any]:
    """Stop its running attempt. "Stopped" is written when its process is seen gone."""
    card, viewer = task_of(request, pk)
    if card.run is None:
        raise NotFound(f"{card.label} has no attempt under way.", field="task")
    actions.stop_run(card.run.id, actor=viewer.actor)
    return {"run": card.run.id}
