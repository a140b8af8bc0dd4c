"""Endpoints on checkpoints: what work can go on from, save, look at what a restore would change, restore, delete."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from dashboard.api.base import Body, ErrorAnswer, Name, team_of
from dashboard.idempotency import key_of
from tasks_app.domain.ids import given_task_number
from tasks_app.management import checkpoint_json
from tasks_app.selectors import checkpoints as reading
from tasks_app.services import checkpoints, restores

router = Router()
ERRORS = dict.fromkeys((403, 404, 409, 422, 429, 503), ErrorAnswer)


class Named(Body):
    """What the checkpoint is called."""

    name: str


class Wanted(Body):
    """The event of the preview that was looked at; `task` for one task alone, such as T-3."""

    seq: int
    task: str = ""


@router.get("/{slug}/checkpoints", response={200: dict[str, Any], **ERRORS})
def overview(request: HttpRequest, slug: str) -> dict[str, Any]:
    """Attempts and teams that wait to go on, and the newest checkpoints with what restoring each would do."""
    pk, _ = team_of(request, slug)
    return checkpoint_json.overview(reading.overview(pk))


@router.post("/{slug}/checkpoints", response={200: dict[str, Any], **ERRORS})
def save(request: HttpRequest, slug: str, body: Named) -> dict[str, Any]:
    """Save a checkpoint."""
    pk, viewer = team_of(request, slug, act=True)
    saved = checkpoints.save(pk, name=body.name, by=viewer.actor, idempotency_key=key_of(request))
    return {"id": saved.pk, "name": saved.name}


@router.get("/{slug}/checkpoints/{checkpoint_id}", response={200: dict[str, Any], **ERRORS})
def preview(request: HttpRequest, slug: str, checkpoint_id: Name, task: str = "") -> dict[str, Any]:
    """What restoring it would change now, as of event `seq`; `refused` says why it cannot be done now."""
    pk, _ = team_of(request, slug)
    return checkpoint_json.preview(restores.preview(pk, checkpoint_id, task=given_task_number(task)))


@router.post("/{slug}/checkpoints/{checkpoint_id}/restore", response={200: dict[str, Any], **ERRORS})
def restore(request: HttpRequest, slug: str, checkpoint_id: Name, body: Wanted) -> dict[str, Any]:
    """Go back to it. 409 where the team has moved on since `seq`, or an attempt is open; then nothing is changed."""
    pk, viewer = team_of(request, slug, act=True)
    task = given_task_number(body.task)
    return checkpoint_json.restored(restores.restore(pk, checkpoint_id, seen=body.seq, actor=viewer.actor, task=task))


@router.delete("/{slug}/checkpoints/{checkpoint_id}", response={200: dict[str, Any], **ERRORS})
def delete(request: HttpRequest, slug: str, checkpoint_id: Name) -> dict[str, Any]:
    """Remove it; the team stays as it is."""
    pk, viewer = team_of(request, slug, act=True)
    return {"deleted": checkpoints.delete(pk, checkpoint_id, actor=viewer.actor)}
