"""Endpoints on who decides what in a team: read it with what its lead agent did, change it."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from dashboard.api.base import Body, ErrorAnswer, team_of
from tasks_app.management import decides_json
from tasks_app.selectors import leading
from tasks_app.services import actions

router = Router()
ERRORS = {403: ErrorAnswer, 404: ErrorAnswer, 409: ErrorAnswer, 422: ErrorAnswer}


class Decides(Body):
    """The settings to change, by their names: `{"question": "human", "wait_minutes": 5}`."""

    settings: dict[str, str | int | float]


@router.get("/{slug}/decides", response={200: dict[str, Any], **ERRORS})
def decides(request: HttpRequest, slug: str) -> dict[str, Any]:
    """Who decides what, and what the lead agent decided."""
    pk, _ = team_of(request, slug)
    return decides_json.overview(leading.overview(pk))


@router.put("/{slug}/decides", response={200: dict[str, Any], **ERRORS})
def set_decides(request: HttpRequest, slug: str, body: Decides) -> dict[str, Any]:
    """Change who decides what."""
    pk, viewer = team_of(request, slug, act=True)
    actions.set_deciders(pk, body.settings, actor=viewer.actor)
    return decides_json.overview(leading.overview(pk))
