"""Endpoints on teams: list, start, status, how it goes, events, pause, resume, stop, archive, restore, delete."""

from pathlib import Path
from typing import Annotated, Any, Literal

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Status
from pydantic import Field

from dashboard.access import require_admin
from dashboard.api.base import Body, ErrorAnswer, team_of, viewer_of
from dashboard.idempotency import key_of
from tasks_app.domain import plan as plans
from tasks_app.domain.errors import Invalid
from tasks_app.management import credentials, how_it_goes, status
from tasks_app.selectors import how_it_goes as reports
from tasks_app.selectors import journal, sentences, stored_teams, teams
from tasks_app.services import actions, removals
from tasks_app.services.moments import one_moment
from tasks_app.services.teams import Source
from tasks_app.task_types import registry

router = Router()
ERRORS = {403: ErrorAnswer, 404: ErrorAnswer, 409: ErrorAnswer, 422: ErrorAnswer}
PAGE = 200


class NewTeam(Body):
    """A plan, as the text of a plan file. Where `rehearse` is left out, the server's setting holds (CREWDESK_REHEARSE)."""

    plan: str = Field(max_length=1_048_576)
    rehearse: bool | None = None


class Named(Body):
    """The team's name, typed again."""

    name: str = Field(max_length=200)


@router.get("", response=dict[str, Any])
def list_teams(request: HttpRequest, archived: bool = False) -> dict[str, Any]:
    """Every team that you may see; with `archived=true` those that were put aside instead."""
    ids = viewer_of(request).team_ids
    if archived:
        shown = [{"slug": t.slug, "name": t.name, "archived_at": t.archived_at.isoformat()} for t in stored_teams.archived(ids)]
        return {"teams": shown}
    found = teams.visible(ids)
    return {"teams": [{"slug": t.slug, "name": t.name, "state": t.state.value, "rehearsal": t.rehearsal} for t in found]}


@router.post("", response={201: dict[str, Any], **ERRORS})
def start_team(request: HttpRequest, body: NewTeam) -> Status[dict[str, Any]]:
    """Start a team from a plan. A bad plan is refused with every problem at once."""
    viewer = viewer_of(request)
    plan = plans.parse(body.plan, known_types=registry.PLANNED)
    if plan.workspace.path or plan.rehearsal:
        raise Invalid(
            "A plan sent over the network cannot name folders or files of the server. Leave out workspace and rehearsal.",
            field="plan",
        )
    rehearse = settings.REHEARSE if body.rehearse is None else body.rehearse
    if not rehearse and not credentials.anywhere():
        raise Invalid("The server has no API key. Start it as a rehearsal, or set a key.", field="rehearse")
    source = Source(body.plan, Path(settings.HOME))
    team = actions.start_team(
        plan,
        source=source,
        user_id=viewer.user_id,
        rehearsal=rehearse,
        actor=viewer.actor,
        idempotency_key=key_of(request),
    )
    return Status(201, {"slug": team.slug})


@router.get("/{slug}", response={200: dict[str, Any], **ERRORS})
def team_status(request: HttpRequest, slug: str) -> dict[str, Any]:
    """Tasks, agents and what waits, as `manage.py team status --json` prints them."""
    pk, _ = team_of(request, slug)
    return status.as_json(status.read(pk, timezone.now()))


@router.get("/{slug}/how-it-goes", response={200: dict[str, Any], **ERRORS})
def how_a_team_does(request: HttpRequest, slug: str) -> dict[str, Any]:
    """Time, questions, rework, messages, hand-offs and waits, on the whole and by day; null is what is not known yet."""
    pk, _ = team_of(request, slug)
    return {"team": slug, **how_it_goes.as_json(reports.of_team(pk))}


@router.get("/{slug}/events", response={200: dict[str, Any], **ERRORS})
def events(
    request: HttpRequest, slug: str, after: Annotated[int, Field(ge=0)] = 0, limit: Annotated[int, Field(ge=1, le=1000)] = PAGE
) -> dict[str, Any]:
    """What came after event `after`, oldest first: poll with the last `seq` you have seen. `text` is the sentence of History."""
    pk, _ = team_of(request, slug)
    with one_moment():  # else `last_seq` might be of an event that came in between, and nobody would ask for that
        found, last = journal.entries(pk, after=after, limit=limit), journal.last_seq(pk)
    shown = [
        {
            "seq": e.seq,
            "kind": str(e.kind),
            "at": e.at.isoformat(),
            "actor": e.actor,
            "task": e.task,
            "task_pk": e.task_pk,
            "run": e.run,
            "decision": e.decision,
            "data": e.data,
            "text": sentences.text(e),
        }
        for e in found
    ]
    return {"events": shown, "last_seq": last}


@router.delete("/{slug}", response={200: dict[str, Any], **ERRORS})
def delete(request: HttpRequest, slug: str, body: Named) -> dict[str, Any]:
    """Delete a team with its whole history, for good; administrators only. 409 while an attempt is open."""
    pk, viewer = team_of(request, slug, act=True)
    require_admin(viewer)
    return {"deleted": removals.delete(pk, name=body.name, actor=viewer.actor)}


@router.post("/{slug}/{action}", response={200: dict[str, Any], **ERRORS})
def act(request: HttpRequest, slug: str, action: Literal["pause", "resume", "stop", "archive", "restore"]) -> dict[str, Any]:
    """Pause (nothing new starts), resume or stop (every run) a team; archive one that has ended, or bring it back."""
    pk, viewer = team_of(request, slug, act=True)
    actions.TEAM_ACTS[action](pk, actor=viewer.actor)
    return {"slug": slug, "action": action}
