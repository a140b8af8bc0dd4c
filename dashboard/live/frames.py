"""The frames of the live socket: what the server says as JSON text, and what a client may say."""

import json
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TypedDict

from tasks_app.domain.text import clean

MAX_CLIENT_BYTES = 65_536
MAX_CURSOR = 16_384
MAX_BYTES = 1_000_000
"""A larger frame is not sent, the page fetches itself: daphne's `--websocket-max-message-size`, 1 MiB, holds for both ways."""

UTF8 = ("utf-8", "utf8")


class Close(IntEnum):
    """Why the server ends a socket. All of the private range: autobahn, below daphne, sends no other code than 1000."""

    GOING_AWAY = 4001
    BAD_FRAME = 4400
    SIGNED_OUT = 4401
    NOT_ALLOWED = 4403
    TOO_SLOW = 4408
    BROKEN = 4500
    TRY_LATER = 4503


class DecisionEvent(TypedDict):
    """A decision was opened: the page may notify."""

    type: str  # "decision"
    id: str
    kind: str
    title: str
    agent: str
    team: str


class BadFrame(ValueError):
    """A client's frame of no known shape; the message is for whoever writes the client."""


class Shared(str):
    """The text of a frame that many sockets are sent: its UTF-8 is made once, though each server encodes it for each socket."""

    __slots__ = ("_utf8",)
    _utf8: bytes

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        """Return the text in UTF-8, the same object each time; any other encoding as a text does."""
        if encoding.lower() not in UTF8:
            return super().encode(encoding, errors)
        try:
            return self._utf8
        except AttributeError:
            self._utf8 = super().encode("utf-8", errors)
            return self._utf8


def tail(html: Mapping[str, str | None], *, wait: int | None, events: Sequence[DecisionEvent], **more: int | None) -> str:
    """Return the part of a frame that is the same for all sockets: made once, joined to each socket's position.

    A page that has just come also gets `missed` (how many events) and `now` (the server's clock, Unix milliseconds).
    """
    return _json(_parts(html, wait, events, **more))[1:]


def _parts(
    html: Mapping[str, str | None], wait: int | None, events: Sequence[DecisionEvent], **more: int | None
) -> dict[str, object]:
    parts: dict[str, object] = {name: value for name, value in more.items() if value}
    if html:
        parts["html"] = {name: None if text is None else clean(text) for name, text in html.items()}
    if wait is not None:
        parts["wait"] = wait
    if events:
        parts["events"] = [{key: clean(str(value)) for key, value in event.items()} for event in events]
    return parts


def frame(prev: str, seq: str, rest: str) -> Shared:
    """Return `{"prev": …, "seq": …, "html": …}` from positions and a `tail`."""
    return Shared(f'{{"prev":{_json(prev)},"seq":{_json(seq)},{rest}')


def heartbeat(seq: str) -> str:
    """Return the sign of life; it also moves the client's position when nothing it shows has changed."""
    return _json({"seq": seq})


def resync(seq: str, *, missed: int = 0, wait: int | None = None, events: Sequence[DecisionEvent] = ()) -> str:
    """Return "fetch the page again"; frames that follow go on from `seq`. `missed`: how many events, where that is known."""
    return _json({"resync": True, "seq": seq, **_parts({}, wait, events, missed=missed)})


def fits(text: str) -> bool:
    """Whether a server passes this frame on."""
    return len(text) * 4 <= MAX_BYTES or len(text.encode("utf-8", "replace")) <= MAX_BYTES


def error(reason: str) -> str:
    """Return why the socket is about to be closed, for servers that cannot send a close reason (daphne)."""
    return _json({"error": reason})


def parse_ack(text: str | None, binary: bytes | None = None) -> str:
    """Return the cursor that a client acknowledges; raises BadFrame for everything that is not `{"ack": "<cursor>"}`."""
    if text is None:
        raise BadFrame(f"a binary frame of {len(binary or b'')} bytes: send text")
    if len(text) > MAX_CLIENT_BYTES or len(text.encode("utf-8", "replace")) > MAX_CLIENT_BYTES:
        raise BadFrame(f"a frame over {MAX_CLIENT_BYTES} bytes")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise BadFrame("not JSON") from None
    if not isinstance(said, dict) or set(said) != {"ack"}:
        raise BadFrame('not an object of known shape: send {"ack": "<seq of the last frame>"}')
    cursor = said["ack"]
    if not isinstance(cursor, str) or len(cursor) > MAX_CURSOR:
        raise BadFrame(f"ack is not a string of at most {MAX_CURSOR} characters")
    return cursor


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
