"""Messages as the SDK gives them, for tests without a process."""

from typing import Any

from claude_agent_sdk import Message
from claude_agent_sdk._internal.message_parser import parse_message


def parsed(data: dict[str, Any]) -> Message:
    """The message in raw data, as the SDK parses it."""
    message = parse_message(data)
    assert message is not None
    return message


def assistant(*blocks: dict[str, Any], **more: Any) -> Message:
    """A row of the model; `usage`, `id`, `model` go into the message, the rest beside it."""
    message = {
        "id": more.pop("id", "msg_1"),
        "model": more.pop("model", "claude-opus-5-5"),
        "usage": more.pop("usage", None),
        "content": list(blocks),
    }
    return parsed({"type": "assistant", "message": message, "session_id": "s", "uuid": "u", **more})


def text(value: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": value}


def tokens(given: int, cache_write: int, cache_read: int, output: int) -> dict[str, int]:
    """The usage of a row, in the API's words."""
    return {
        "input_tokens": given,
        "cache_creation_input_tokens": cache_write,
        "cache_read_input_tokens": cache_read,
        "output_tokens": output,
    }


def result(**more: Any) -> Any:
    """A result: a plain success unless told otherwise."""
    data = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 1,
        "duration_api_ms": 1,
        "num_turns": 1,
        "session_id": "s",
        "result": "fine",
        "stop_reason": "end_turn",
    }
    return parsed({**data, **more})


def system(subtype: str, **more: Any) -> Message:
    """A system message."""
    return parsed({"type": "system", "subtype": subtype, "session_id": "s", "uuid": "u", **more})


def user(content: Any, **more: Any) -> Message:
    """A user-role row."""
    return parsed({"type": "user", "message": {"role": "user", "content": content}, "session_id": "s", "uuid": "u", **more})
