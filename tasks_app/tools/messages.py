"""Crew tools on messages: write to a colleague or the lead, read what came in."""

import json
from typing import Literal

from pydantic import Field

from tasks_app.domain.plan_model import fold
from tasks_app.selectors import crew
from tasks_app.services import messages
from tasks_app.tools.base import Arguments, Caller, CrewTool


class Send(Arguments):
    """A message."""

    to: str = Field(description="Name of an agent of your team, or `lead` for the human")
    message: str
    priority: Literal["normal", "interrupt"] = "normal"


class Read(Arguments):
    """The latest messages to you."""


def _send(caller: Caller, args: Send) -> str:
    # the call's own id makes a repeated call after a crash the same message
    key = f"{caller.run_id}:{caller.tool_use_id}" if caller.tool_use_id else None
    sent = messages.send(
        caller.team_id,
        sender_agent_id=caller.agent_id,
        to=args.to,
        body=args.message,
        priority=args.priority,
        actor=caller.actor,
        dedupe_key=key,
    )
    if sent.recipient_id and not crew.is_running(sent.recipient_id):
        return f"Queued for {sent.recipient_name}, who is not running now and gets it when next at work. Do not wait for a reply."
    return f"Sent to {sent.recipient_name}. A reply, if any, comes by itself; do not wait for it."


def _read(caller: Caller, args: Read) -> str:
    return json.dumps(crew.recent_messages(caller.agent_id), ensure_ascii=False, indent=1)


TOOLS = (
    CrewTool(
        "SendMessage",
        "Send a message to a colleague of your team or to the lead.",
        Send,
        _send,
        once=lambda args: [fold(args.to), args.message.split()],
    ),
    CrewTool("ReadMessages", "Read the latest messages to you. New ones reach you by themselves.", Read, _read, writes=False),
)
