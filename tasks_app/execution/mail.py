"""The messages of one life: what is due to its agent, each told to it once."""

import asyncio
from collections.abc import Sequence
from typing import Any

from tasks_app.domain import messaging
from tasks_app.execution import db
from tasks_app.services import messages
from tasks_app.services.runs import Held


class Mail:
    """Takes what is due. It remembers what this life was given: what was taken for it, and is not among that, is taken again."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._told: set[str] = set()
        self._taking = asyncio.Lock()

    async def take(self) -> Sequence[str]:
        """Hand over what is due now, as the agent is told it. Raises `LeaseLost`."""
        held = self._held
        async with self._taking:
            told = frozenset(self._told)
            due = await db.call(messages.take_due, held.agent_id, run_id=held.id, fence=held.fence, told=told)
            self._told.update(message.pk for message in due)
            return [_words(message) for message in due]


def _words(message: Any) -> str:
    return messaging.told(
        message.pk,
        message.sender_name,
        message.body,
        priority=message.priority,
        everyone=bool(message.broadcast),
        meant_for=message.meant_for,
        no_reply=message.no_reply,
    )
