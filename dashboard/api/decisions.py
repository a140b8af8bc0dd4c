"""Endpoints on decisions: what waits for the lead, and the answer."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router
from pydantic import Field

from dashboard.access import require_team
from dashboard.api.base import Body, ErrorAnswer, Name, viewer_of
from tasks_app.domain.errors import NotFound
from tasks_app.selectors import inbox
from tasks_app.services import actions

router = Router()
ERRORS = {403: ErrorAnswer, 404: ErrorAnswer, 409: ErrorAnswer, 422: ErrorAnswer}


class Answer(Body):
    """The lead's answer. `version` and `payload_hash` are those that were read: nobody answers what they did not see."""

    choice: str = Field(max_length=40)
    note: str = ""
    data: dict[str, Any] = Field(default_factory=dict)
    version: int
    payload_hash: str = Field(max_length=64)


def _found(request: HttpRequest, id: str, *, act: bool) -> inbox.Detail:
    team_id = inbox.team_of(id)
    if team_id is None:
        raise NotFound("There is no such request, or you have no access to it.", field="id")
    require_team(viewer_of(request), team_id, act=act)
    detail = inbox.detail(id)
    if detail is None:
        raise NotFound("There is no such request any more.", field="id")
    return detail


@router.get("", response=dict[str, Any])
def waiting(request: HttpRequest) -> dict[str, Any]:
    """What waits for you, oldest first."""
    items, now = inbox.open_items(viewer_of(request).team_ids), timezone.now()
    return {
        "decisions": [
            {
                "id": i.id,
                "kind": i.kind.value,
                "title": i.title,
                "team": i.team_slug,
                "agent": i.agent,
                "task": i.task_label,
                "task_pk": i.task_pk,
                "snoozed": i.snoozed_until is not None and i.snoozed_until > now,
                "looking": i.looked_by if i.looking else "",
            }
            for i in items
        ]
    }


@router.get("/{id}", response={200: dict[str, Any], **ERRORS})
def one(request: HttpRequest, id: Name) -> dict[str, Any]:
    """One request with its payload, version and hash. `warnings`: why what the payload shows may not be all that is asked."""
    detail = _found(request, id, act=False)
    return {
        "id": detail.item.id,
        "kind": detail.item.kind.value,
        "title": detail.item.title,
        "status": detail.item.status.value,
        "payload": dict(detail.visible),
        "warnings": list(detail.warnings),
        "version": detail.version,
        "payload_hash": detail.payload_hash,
    }


@router.post("/{id}/answer", response={200: dict[str, Any], **ERRORS})
def answer(request: HttpRequest, id: Name, body: Answer) -> dict[str, Any]:
    """Answer it. The first answer wins; 409 says who was first, or why the request is gone."""
    _found(request, id, act=True)
    done = actions.answer(
        id,
        choice=body.choice,
        note=body.note,
        data=body.data,
        version=body.version,
        payload_hash=body.payload_hash,
        actor=viewer_of(request).actor,
    )
    return {"id": id, "choice": done.choice, "by": done.answered_by}
