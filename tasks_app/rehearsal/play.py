"""What the scripted model answers to one request: pure, from the request, the script and how often a fault was played."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tasks_app.rehearsal import conversation as conversations
from tasks_app.rehearsal import position as positions
from tasks_app.rehearsal.conversation import Conversation, Use, size_tokens
from tasks_app.rehearsal.position import Position, Variables
from tasks_app.rehearsal.script_model import Fail, Misbehave, Part, Turn, Usage

_SUMMARY: Final = "create a detailed summary of"
"""Stands in the request that Claude Code 2.1 sends to compact a conversation."""

SUBAGENT_CLOSING: Final = "The sub-agent is done."


@dataclass(frozen=True)
class Figures:
    """Token figures as the API counts them."""

    input: int
    cache_read: int
    cache_write: int
    output: int


@dataclass(frozen=True)
class Answer:
    """One message of the model, and how it is to be sent."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Use, ...] = ()
    usage: Figures = Figures(0, 0, 0, 0)
    wait_s: float = 0.0
    misbehave: Misbehave | None = None


@dataclass(frozen=True)
class Refusal:
    """An HTTP error instead of a message."""

    status: int
    message: str = ""
    retry_after_s: float | None = None
    retry: bool | None = None


@dataclass(frozen=True)
class Request:
    """What figures depend on: the messages of a request, and its size in tokens."""

    messages: tuple[Any, ...]
    tokens: int

    def priced(self, made: Answer, given: Usage | None = None, context_tokens: int = 0) -> Answer:
        """Return `made` with the figures that are `given`; the others say that all but the newest message comes from the cache.

        `context_tokens` is how large the script said the conversation is, if it did.
        """
        figures = given or Usage()
        whole = max(self.tokens, context_tokens)
        new = size_tokens(self.messages[-1:]) if len(self.messages) > 1 else whole
        output = size_tokens([made.text, made.thinking, *(call.input for call in made.calls)])
        usage = Figures(
            input=3 if figures.input is None else figures.input,
            cache_read=max(0, whole - new) if figures.cache_read is None else figures.cache_read,
            cache_write=new if figures.cache_write is None else figures.cache_write,
            output=max(1, output) if figures.output is None else figures.output,
        )
        return replace(made, usage=usage)


@dataclass
class Registered:
    """A run that is rehearsed: its part, its variables, and how often each fault was already played."""

    part: Part
    variables: Variables
    spent: Counter[str] = field(default_factory=Counter)


def answer(body: Mapping[str, Any], registered: Registered, *, subagent: str = "") -> Answer | Refusal:
    """Return what the model says to `body`, a Messages API request; `subagent` is the id of the sub-agent that asks, if any."""
    messages = body.get("messages")
    request = Request(tuple(messages) if isinstance(messages, list) else (), size_tokens(body))
    story = conversations.parse(request.messages)
    if not body.get("tools") and not subagent:
        return request.priced(Answer(text=_side_text(body)))
    scope, turns, closing = _lines(registered.part, story, subagent)
    at = positions.find(turns, story, registered.variables)
    if _SUMMARY in story.last_told:
        return request.priced(Answer(text=_summary(at)), context_tokens=at.context_tokens)
    if at.turn is None:
        return request.priced(Answer(text=registered.variables.fill(closing)), context_tokens=at.context_tokens)
    key = f"{scope}:{at.number}"
    return _fault(at.turn, key, registered) or request.priced(
        _message(at, at.turn, key, registered), at.turn.usage, at.context_tokens
    )


def _lines(part: Part, story: Conversation, subagent: str) -> tuple[str, Sequence[Turn], str]:
    """Return whose lines these are, the lines and the closing words."""
    if not subagent:
        return "main", part.turns, part.closing
    prompt = conversations.without_reminders("\n".join(story.opening)).casefold()
    word = next((word for word in part.subagents if word.casefold() in prompt), "")
    return f"sub {word}", part.subagents.get(word, ()), SUBAGENT_CLOSING


def _fault(turn: Turn, key: str, registered: Registered) -> Refusal | None:
    for index, fail in enumerate(turn.fail):
        if _spend(registered, f"{key}:fail{index}", fail):
            return Refusal(fail.status, registered.variables.fill(fail.message), fail.retry_after, fail.retry)
    return None


def _spend(registered: Registered, key: str, fault: Fail | Misbehave) -> bool:
    """Whether this fault is to be played once more; counts it."""
    registered.spent[key] += 1
    return registered.spent[key] <= fault.times


def _message(at: Position, turn: Turn, key: str, registered: Registered) -> Answer:
    return Answer(
        text="" if at.said else at.say,
        thinking="" if at.said else registered.variables.fill(turn.think or ""),
        calls=tuple(at.calls.values()),
        wait_s=turn.wait,
        misbehave=turn.misbehave if turn.misbehave and _spend(registered, f"{key}:misbehave", turn.misbehave) else None,
    )


def _summary(at: Position) -> str:
    return f"<analysis>Rehearsal.</analysis>\n<summary>\nA rehearsal is played from a script. {at.note()}\n</summary>"


def _side_text(body: Mapping[str, Any]) -> str:
    """Return the text for a request without tools (a title, a topic): JSON where it asks for a JSON object."""
    shape = (body.get("output_config") or {}).get("format") if isinstance(body.get("output_config"), dict) else None
    schema = shape.get("schema") if isinstance(shape, dict) else None
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return "Rehearsal"
    kinds: dict[Any, Any] = {"string": "Rehearsal", "boolean": False, "integer": 0, "number": 0, "array": [], "object": {}}
    fields = schema["properties"].items()
    return json.dumps({name: kinds.get(kind.get("type") if isinstance(kind, dict) else "") for name, kind in fields})
