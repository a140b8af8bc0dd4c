"""Reads everything that a Claude Code process says, also what the SDK does not know or cannot parse.

The SDK's own `receive_messages` drops unknown kinds in silence and ends at the first message that it cannot parse; a run must
count, keep and go on. Hence the one look behind its public face, guarded by tests against the pinned version.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from claude_agent_sdk import ClaudeSDKClient, CLIConnectionError, Message
from claude_agent_sdk._errors import MessageParseError
from claude_agent_sdk._internal.message_parser import parse_message

MALFORMED = (MessageParseError, TypeError, ValueError, AttributeError, LookupError)
"""What a message raises that does not look as expected: a field is null, say, which the SDK's types promise is not."""
UNINTERESTING = frozenset({"command_lifecycle", "keep_alive", "stream_event", "tool_progress"})


@dataclass(frozen=True)
class Unreadable:
    """A message of a kind that the SDK does not know, or that does not look as it expects."""

    kind: str
    data: Mapping[str, Any]


async def messages(client: ClaudeSDKClient) -> AsyncIterator[Message | Unreadable]:
    """Yield every message until the process ends; raises the SDK's errors where it dies or overflows the buffer."""
    query: Any = client._query
    if query is None:
        raise CLIConnectionError("not connected")
    async for data in query.receive_messages():
        found = _parse(data)
        if found is not None:
            yield found


def pipes(client: ClaudeSDKClient) -> asyncio.SubprocessTransport | None:
    """Return the transport that holds the process's pipes: the SDK forgets it, and what was never read keeps them open."""
    process = getattr(client._transport, "_process", None)
    found = getattr(getattr(process, "_process", None), "_transport", None)
    return found if isinstance(found, asyncio.SubprocessTransport) else None


def _parse(data: Any) -> Message | Unreadable | None:
    if not isinstance(data, dict):
        return Unreadable(type(data).__name__, {"value": data})
    kind = str(data.get("type"))
    try:
        message = parse_message(data)
    except MALFORMED as problem:
        return Unreadable(f"malformed {kind}", {"problem": str(problem)[:500], "message": data})
    if message is None and kind not in UNINTERESTING:
        return Unreadable(kind, data)
    return message
