"""Crew tools on messages: write to a colleague, the lead or everyone, read what came in, say what was acted on."""

import json
from typing import Literal

from pydantic import Field

from tasks_app.domain.errors import DomainError, TooMany
from tasks_app.domain.messaging import Priority
from tasks_app.domain.plan_model import fold
from tasks_app.selectors import crew
from tasks_app.services import messages, talk
from tasks_app.tools.base import Arguments, Caller, CrewTool


class Send(Arguments):
    """A message."""

    to: str = Field(description="Name of an agent of your team, `lead` for the human, or `all` for everyone")
    message: str
    priority: Literal["normal", "interrupt", "status"] = Field(
        default="normal",
        description="`interrupt` stops what the other is doing: only where going on would do harm. `status` is for people who "
        "watch: it stands on their page and no agent reads it",
    )
    reply_to: str = Field(default="", description="Id of the message this answers, as m1a2b3c4d")
    no_reply: bool = Field(default=False, description="True where you need no answer")


class Read(Arguments):
    """The latest messages to you."""


class Done(Arguments):
    """A message that you have acted on."""

    message_id: str = Field(description="Its id, as m1a2b3c4d")
    did: str = Field(default="", description="What you did about it, in a sentence")


def _send(caller: Caller, args: Send) -> str:
    # the call's own id makes a repeated call after a crash the same message
    key = f"{caller.run_id}:{caller.tool_use_id}" if caller.tool_use_id else None
    draft = messages.Draft(args.message, args.priority, args.reply_to, args.no_reply, key)
    sent = messages.post(caller.team_id, draft, sender_agent_id=caller.agent_id, to=args.to, actor=caller.actor)
    first = sent[0]
    if first.priority == Priority.STATUS:
        return "Noted on the page of the people who watch. No agent is told: it asks for nothing and adds nothing to the work."
    if len(sent) > 1:
        return f"Sent to everyone: {', '.join(one.recipient_name for one in sent)}. They do not reply to it."
    if first.meant_for:
        return (
            f"In this team messages go through {first.recipient_name}: it was sent to {first.recipient_name}, meant for "
            f"{first.meant_for}. Do not wait for a reply."
        )
    if first.recipient_id and not crew.is_running(first.recipient_id):
        return (
            f"Queued for {first.recipient_name}, who is not running now and gets it when next at work. Do not wait for a reply."
        )
    return f"Sent to {first.recipient_name}. A reply, if any, comes by itself; do not wait for it."


def _refused(caller: Caller, args: Send, problem: DomainError) -> None:
    if isinstance(problem, TooMany):
        talk.note_refused(caller.team_id, agent_id=caller.agent_id, recipient=args.to, why=problem.message)


def _read(caller: Caller, args: Read) -> str:
    return json.dumps(crew.recent_messages(caller.agent_id), ensure_ascii=False, indent=1)


def _done(caller: Caller, args: Done) -> str:
    found = messages.act_on(
        args.message_id.strip(), team_id=caller.team_id, agent_id=caller.agent_id, note=args.did, actor=caller.actor
    )
    return f"Noted: you acted on the message of {found.sender_name}."


TOOLS = (
    CrewTool(
        "SendMessage",
        "Send a message to a colleague of your team, to the lead, or to everyone.",
        Send,
        _send,
        refused=_refused,
        once=lambda args: [fold(args.to), args.message.split()],
    ),
    CrewTool("ReadMessages", "Read the latest messages to you. New ones reach you by themselves.", Read, _read, writes=False),
    CrewTool("MessageDone", "Say that you have acted on a message, so that its sender need not ask.", Done, _done),
)
