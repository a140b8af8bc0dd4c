"""Endpoints on what a team shares: list, read with history and readers, write by compare-and-set, delete, schemas."""

from typing import Any

from django.http import HttpRequest
from ninja import Router
from pydantic import Field

from dashboard.api.base import Body, ErrorAnswer, Name, team_of
from tasks_app.domain.errors import Invalid, NotFound
from tasks_app.domain.ids import parse_task_label
from tasks_app.domain.statuses import Scope
from tasks_app.management import shared_json
from tasks_app.selectors import context as reading
from tasks_app.services import context
from tasks_app.services.context import Writer
from tasks_app.services.moments import one_moment

router = Router()
ERRORS = {403: ErrorAnswer, 404: ErrorAnswer, 409: ErrorAnswer, 413: ErrorAnswer, 422: ErrorAnswer}


class Written(Body):
    """A value, and the version that was read (0: it must be new; left out: new, or your own last version)."""

    value: Any
    version: int | None = None
    task: str = ""
    ttl_s: float | None = None


class Registered(Body):
    """The JSON Schema (2020-12) of a name; null removes it."""

    wanted: dict[str, Any] | None = Field(alias="schema")


def _named(team_id: int, name: str) -> reading.Entry:
    found = reading.named(team_id, name)
    if found is None:
        raise NotFound(f"Nothing of the name “{name[:60]}” is shared.", field="name")
    return found


@router.get("/{slug}/context", response={200: dict[str, Any], **ERRORS})
def entries(request: HttpRequest, slug: str, prefix: str = "") -> dict[str, Any]:
    """Every entry that has not expired, newest first; of a large one only its beginning, as `start`."""
    pk, _ = team_of(request, slug)
    return {"entries": [shared_json.entry(one) for one in reading.of_team(pk) if one.name.startswith(prefix)]}


@router.get("/{slug}/context/{path:name}", url_name="context-read", response={200: dict[str, Any], **ERRORS})
def read(request: HttpRequest, slug: str, name: Name, version: int | None = None) -> dict[str, Any]:
    """One entry whole, with its schema, the versions that are kept and who has read it; or an earlier version of it."""
    pk, _ = team_of(request, slug)
    with one_moment():
        return shared_json.whole(_named(pk, name), version=version)


@router.put("/{slug}/context/{path:name}", response={200: dict[str, Any], **ERRORS})
def write(request: HttpRequest, slug: str, name: Name, body: Written) -> dict[str, Any]:
    """Share a value. 409 names who wrote in between; 422 names what in the value breaks its schema."""
    pk, viewer = team_of(request, slug, act=True)
    number = parse_task_label(body.task) if body.task else None
    if body.task and number is None:
        raise Invalid("A task is written as T-3.", field="task")
    written = context.share(
        pk,
        name=name,
        value=body.value,
        by=Writer(viewer.actor),
        version=body.version,
        ttl_s=body.ttl_s,
        scope=Scope.TASK if number else Scope.TEAM,
        task_number=number,
    )
    return {"name": written.name, "version": written.version}


@router.delete("/{slug}/context/{path:name}", response={200: dict[str, Any], **ERRORS})
def delete(request: HttpRequest, slug: str, name: Name, version: int | None = None) -> dict[str, Any]:
    """Delete an entry with its history; with `version` only where it is still at that one."""
    pk, viewer = team_of(request, slug, act=True)
    context.delete(pk, name=name, version=version, by=Writer(viewer.actor))
    return {"name": name, "deleted": True}


@router.put("/{slug}/context-schemas/{path:name}", response={200: dict[str, Any], **ERRORS})
def register(request: HttpRequest, slug: str, name: Name, body: Registered) -> dict[str, Any]:
    """Set or remove the schema of a name. 422 where what is shared now does not fit it."""
    pk, viewer = team_of(request, slug, act=True)
    context.set_schema(pk, name=name, schema=body.wanted, by=Writer(viewer.actor))
    return {"name": name, "schema": body.wanted}
