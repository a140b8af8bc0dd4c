"""Endpoints on forks of attempts and on the files of a workspace."""

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Router, Status
from pydantic import Field

from dashboard.api.base import Body, Pk, team_of
from dashboard.api.tasks import ERRORS, agent_named, task_of
from dashboard.idempotency import key_of
from tasks_app.management import fork_json
from tasks_app.services import forks, rewinds

router = Router()
teams_router = Router()


class Fork(Body):
    """Of which attempt (number or id), at which message, for whom (empty: the same agent), on which files."""

    run: str = Field(max_length=16)
    at: int = Field(ge=1, le=2**31 - 1)
    agent: str = Field(default="", max_length=60)
    guidance: str = Field(default="", max_length=20_000)
    files: Literal["now", "then"] = "now"


class Rewind(Body):
    """To which prompt of which attempt; `seen` is that of the preview (empty: whatever the files are now)."""

    run: str = Field(max_length=16)
    at: int = Field(ge=1, le=2**31 - 1)
    seen: str = Field(default="", max_length=64)


@router.get("/{pk}/messages", response={200: dict[str, Any], **ERRORS})
def messages(request: HttpRequest, pk: Pk, run: str) -> dict[str, Any]:
    """List the messages of an attempt that one can fork from; those with `prompt` are those that files can be put back to."""
    task_of(request, pk, act=False)
    return {"messages": fork_json.messages(fork_json.run_of(pk, run))}


@router.post("/{pk}/fork", response={201: dict[str, Any], **ERRORS})
def fork(request: HttpRequest, pk: Pk, body: Fork) -> Status[dict[str, Any]]:
    """Start the task again as a fork of an earlier attempt. 409 says what stands in the way, and what to do first."""
    card, viewer = task_of(request, pk)
    agent_id = agent_named(card.team_id, body.agent) if body.agent else None
    run = fork_json.run_of(pk, body.run)
    forks.fork(
        run,
        at=body.at,
        agent_id=agent_id,
        guidance=body.guidance,
        files=body.files,
        actor=viewer.actor,
        idempotency_key=key_of(request),
    )
    return Status(201, {"forked": run, "at": body.at})


@router.get("/{pk}/rewind", response={200: dict[str, Any], **ERRORS})
def preview(request: HttpRequest, pk: Pk, run: str, at: int) -> dict[str, Any]:
    """Show which files a rewind would change; nothing is changed."""
    task_of(request, pk)
    return fork_json.rewind(rewinds.preview(fork_json.run_of(pk, run), at=at), done=False)


@router.post("/{pk}/rewind", response={200: dict[str, Any], **ERRORS})
def rewind(request: HttpRequest, pk: Pk, body: Rewind) -> dict[str, Any]:
    """Put the workspace's files back. 409 while an attempt is open there, or when they have changed since `seen`."""
    _, viewer = task_of(request, pk)
    found = rewinds.rewind(fork_json.run_of(pk, body.run), at=body.at, seen=body.seen, actor=viewer.actor)
    return fork_json.rewind(found, done=True)


@teams_router.post("/{slug}/undo-rewind", response={200: dict[str, Any], **ERRORS})
def undo(request: HttpRequest, slug: str) -> dict[str, Any]:
    """Put the files back to how they were before the last rewind; undone twice is done again."""
    pk, viewer = team_of(request, slug, act=True)
    return {"files": rewinds.undo(pk, actor=viewer.actor, idempotency_key=key_of(request))}
