"""The Messages API on the wire: answers as JSON or server-sent events, in order or broken the way a script says."""

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tasks_app.rehearsal.play import Answer, Figures, Refusal

PIECE: Final = 400
"""Characters of text in one streamed delta."""
_UNKNOWN: Final = {"type": "rehearsal_unknown_block", "data": "A block of a type that no client knows."}
_ERRORS: Final = {
    400: ("invalid_request_error", "The request is not valid."),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "The account has no credit left."),
    403: ("permission_error", "This key may not do that."),
    404: ("not_found_error", "There is no such thing."),
    413: ("request_too_large", "The request is too large."),
    429: ("rate_limit_error", "This request would exceed the rate limit of the account."),
    500: ("api_error", "Internal server error"),
    529: ("overloaded_error", "Overloaded"),
}
Event = dict[str, Any]


class Cut(Exception):
    """The connection is to be dropped here: the script says so."""


def error_body(refusal: Refusal) -> Event:
    """Return the JSON body of an API error."""
    kind, usual = _ERRORS.get(refusal.status, ("api_error", "The API does not answer."))
    return {"type": "error", "error": {"type": kind, "message": refusal.message or usual}, "request_id": "req_" + _token()}


def error_headers(refusal: Refusal) -> dict[str, str]:
    """Return the headers of an API error: retry-after in seconds and x-should-retry, where the script gives them."""
    headers = {} if refusal.retry_after_s is None else {"retry-after": f"{refusal.retry_after_s:g}"}
    return headers if refusal.retry is None else headers | {"x-should-retry": str(refusal.retry).lower()}


def message(answer: Answer, *, model: str) -> Event:
    """Return the whole message, as an answer that is not streamed."""
    return _head(model) | {
        "content": _blocks(answer),
        "stop_reason": _stop_reason(answer),
        "usage": _usage(answer.usage, answer.usage.output),
    }


def plain(answer: Answer, *, model: str) -> str:
    """Return the body of an answer that is not streamed; how it is broken shows as far as it can."""
    text = json.dumps(message(answer, model=model))
    return text[: len(text) // 2] if _how(answer) in ("cut", "malformed_event", "error_event") else text


def start(answer: Answer, *, model: str) -> str:
    """Return the first event of a stream, sent before the script waits."""
    return _frame({"type": "message_start", "message": _head(model) | {"usage": _usage(answer.usage, 1)}})


def ping() -> str:
    """Return an event that says only that the stream is alive."""
    return _frame({"type": "ping"})


def rest(answer: Answer) -> Iterator[str]:
    """Yield the events after the first one. Raises `Cut` where the script drops the connection."""
    frames = [_frame(event) for event in _events(answer)]
    how = _how(answer)
    if how not in ("cut", "malformed_event", "error_event"):
        yield from frames
        return
    yield from frames[: max(1, len(frames) // 2)]
    if how == "malformed_event":
        yield 'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0, "delta": {"type": \n\n'
    if how == "error_event":
        yield _frame({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    raise Cut


def _events(answer: Answer) -> Iterator[Event]:
    for index, block in enumerate(_blocks(answer)):
        yield from _block_events(index, block, broken_input=_how(answer) == "malformed_input")
    usage = _usage(answer.usage, answer.usage.output)
    yield {"type": "message_delta", "delta": {"stop_reason": _stop_reason(answer), "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def _block_events(index: int, block: Event, *, broken_input: bool) -> Iterator[Event]:
    empty, deltas = _opened(block, broken_input=broken_input)
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _opened(block: Event, *, broken_input: bool) -> tuple[Event, list[Event]]:
    """Return how a block starts and the deltas that fill it."""
    if block["type"] == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
    if block["type"] == "thinking":
        pieces = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"])]
        signature = {"type": "signature_delta", "signature": block["signature"]}
        return {"type": "thinking", "thinking": "", "signature": ""}, [*pieces, signature]
    if block["type"] == "tool_use":
        given = json.dumps(block["input"])
        given = given[: max(1, len(given) // 2)] if broken_input else given
        return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(given)]
    return block, []


def _pieces(text: str) -> list[str]:
    size = max(PIECE, len(text) // 200)
    return [text[at : at + size] for at in range(0, len(text), size)]


def _blocks(answer: Answer) -> list[Event]:
    how = _how(answer)
    if how in ("empty", "refusal"):
        return []
    blocks: list[Event] = [dict(_UNKNOWN)] if how == "unknown_block" else []
    if answer.misbehave and how == "huge":
        blocks.append({"type": "text", "text": _huge(answer.misbehave.size)})
    if answer.thinking:
        blocks.insert(0, {"type": "thinking", "thinking": answer.thinking, "signature": "rehearsal"})
    if answer.text:
        text = answer.text[: len(answer.text) // 2] if how == "max_tokens" else answer.text
        blocks.append({"type": "text", "text": text})
    if how != "max_tokens":
        blocks += [
            {"type": "tool_use", "id": "toolu_" + _token(), "name": call.name, "input": call.input} for call in answer.calls
        ]
    return blocks


def _huge(size: int) -> str:
    line = "This line is repeated to make a huge text. "
    return (line * (size // len(line) + 1))[:size]


def _stop_reason(answer: Answer) -> str:
    how = _how(answer)
    if how in ("refusal", "max_tokens"):
        return how
    return "tool_use" if answer.calls and how != "empty" else "end_turn"


def _how(answer: Answer) -> str:
    return answer.misbehave.how if answer.misbehave else ""


def _head(model: str) -> Event:
    return {
        "id": "msg_" + _token(),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _usage(figures: Figures, output: int) -> Mapping[str, int]:
    return {
        "input_tokens": figures.input,
        "cache_read_input_tokens": figures.cache_read,
        "cache_creation_input_tokens": figures.cache_write,
        "output_tokens": output,
    }


def _frame(event: Event) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _token() -> str:
    return secrets.token_hex(12)
