"""Endpoints on a team as one file: download it, bring one here."""

from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from ninja import File, Form, Router, Status
from ninja.files import UploadedFile

from dashboard import team_files
from dashboard.access import team_at
from dashboard.api.base import ErrorAnswer, viewer_of

router = Router()
ERRORS = dict.fromkeys((403, 404, 409, 413, 422), ErrorAnswer)


@router.get("/{slug}/export", response=ERRORS)
def export(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """The team's file (`application/zip`), as of this moment; for its leads."""
    return team_files.sent(team_at(viewer_of(request), slug, act=True))


@router.post("/import", response={201: dict[str, Any], **ERRORS})
def load(request: HttpRequest, file: File[UploadedFile], name: Form[str] = "") -> Status[dict[str, Any]]:
    """Make the team of a file (`multipart/form-data`), paused; `name`: another name for it. For administrators."""
    made = team_files.taken(file, name=name, viewer=viewer_of(request))
    return Status(201, {"slug": made.slug, "name": made.name, "status": "paused"})
