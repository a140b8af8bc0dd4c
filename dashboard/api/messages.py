"""Endpoints on the messages of a team: list with receipts, who writes to whom, write, deal with mail, how the team talks."""

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Query, Router, Status
from pydantic import Field

from dashboard.api.base import Body, ErrorAnswer, Name, team_of
from dashboard.idempotency import key_of
from tasks_app.domain.messaging import Priority, Receipt
from tasks_app.management import message_json
from tasks_app.selectors import crew
from tasks_app.selectors import messages as reading
from tasks_app.selectors.messages import Wanted
from tasks_app.services import messages, talk
from tasks_app.services.messages import Draft
from tasks_app.services.moments import one_moment

router = Router()
ERRORS = {403: ErrorAnswer, 404: ErrorAnswer, 409: ErrorAnswer, 413: ErrorAnswer, 422: ErrorAnswer, 429: ErrorAnswer}


class NewMessage(Body):
    """A message of the lead to an agent, or to `all`; `reply_to` is the id of a message to the lead."""

    to: str = Field(max_length=60)
    message: str
    priority: Literal["normal", "interrupt", "status"] = "normal"
    reply_to: str = Field(default="", max_length=20)
    no_reply: bool = False


class Messaging(Body):
    """How the team talks."""

    mode: Literal["mesh", "hub"]
    per_minute: int
    chain: int


@router.get("/{slug}/messages", response={200: dict[str, Any], **ERRORS})
def listed(
    request: HttpRequest,
    slug: str,
    who: str = "",
    state: Receipt | Literal[""] = "",
    priority: Priority | Literal[""] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> dict[str, Any]:
    """The latest messages that fit, newest first, each with its receipts."""
    pk, _ = team_of(request, slug)
    return {"messages": [message_json.note(one) for one in reading.of_team(pk, Wanted(who, state, priority), limit=limit)]}


@router.post("/{slug}/messages", response={201: dict[str, Any], **ERRORS})
def send(request: HttpRequest, slug: str, body: NewMessage) -> Status[dict[str, Any]]:
    """Write to an agent, also in the middle of its run, or to all.

    `queued`: it is not running and gets it when next at work; `held_up`: why it waits for longer than that.
    """
    pk, viewer = team_of(request, slug, act=True)
    draft = Draft(body.message, body.priority, body.reply_to, body.no_reply, key_of(request))
    sent = messages.post(pk, draft, sender_agent_id=None, to=body.to, actor=viewer.actor)
    made = message_json.sent(sent)
    return Status(201, {**made[0], "queued": not crew.is_running(sent[0].recipient_id or 0), "sent": made})


@router.post("/{slug}/messages/{message_id}/{action}", response={200: dict[str, Any], **ERRORS})
def act(request: HttpRequest, slug: str, message_id: Name, action: Literal["done", "pass-on"]) -> dict[str, Any]:
    """Mail of the lead: say that it was acted on, or, in hub mode, pass it on to whom it was meant for."""
    pk, viewer = team_of(request, slug, act=True)
    if action == "done":
        return {"id": messages.act_on(message_id, team_id=pk, agent_id=None, note="", actor=viewer.actor).pk}
    passed = messages.pass_on(message_id, team_id=pk, actor=viewer.actor)
    return {"id": passed.pk, "to": passed.recipient_name}


@router.get("/{slug}/message-pairs", response={200: dict[str, Any], **ERRORS})
def pairs(request: HttpRequest, slug: str) -> dict[str, Any]:
    """Who writes to whom, the busiest first."""
    pk, _ = team_of(request, slug)
    return {"pairs": [vars(one) for one in reading.pairs(pk)]}


@router.get("/{slug}/messaging", response={200: dict[str, Any], **ERRORS})
def settings(request: HttpRequest, slug: str) -> dict[str, Any]:
    """How the team talks."""
    with one_moment():
        pk, _ = team_of(request, slug)
        return vars(reading.settings(pk))


@router.put("/{slug}/messaging", response={200: dict[str, Any], **ERRORS})
def set_settings(request: HttpRequest, slug: str, body: Messaging) -> dict[str, Any]:
    """Set how the team talks."""
    pk, viewer = team_of(request, slug, act=True)
    wanted = talk.set_settings(pk, mode=body.mode, per_minute=body.per_minute, chain=body.chain, actor=viewer.actor)
    return vars(wanted)
