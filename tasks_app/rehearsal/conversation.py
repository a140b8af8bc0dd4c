"""A conversation as a Messages API request tells it: what the model did, what came of it, what it was told."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tasks_app.domain import lost_calls
from tasks_app.domain import text as texts

_MARKER: Final = re.compile(r"\[crewdesk:(repeat|answered) ([^\s\]]{1,200})\]")
_TASK: Final = re.compile(r"^\[crewdesk:task ", re.MULTILINE)
_REMINDER: Final = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)

STOPPED: Final = "[crewdesk:stopped]"
"""What the agent is told when its calls were stopped so that it reads a message: the script goes on with its next turn."""

_ADDED: Final = ("No response requested.", "(no content)", "")
"""Assistant texts that Claude Code adds to a transcript; the model never said them."""


@dataclass(frozen=True)
class Use:
    """One tool call: its id in the conversation (empty before it is made), tool and input."""

    name: str
    input: Mapping[str, Any]
    id: str = ""


@dataclass(frozen=True)
class Result:
    """What came back for one tool call."""

    text: str
    is_error: bool

    @property
    def genuine(self) -> bool:
        """Whether the call was carried out or refused for good, as opposed to cut off."""
        return lost_calls.carried_out(self.text, is_error=self.is_error)


@dataclass
class Exchange:
    """One message of the model and what it was told after it, up to its next message."""

    said: list[str] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    @property
    def played(self) -> bool:
        """Whether the model really said or did something here."""
        return bool(self.uses) or any(not _is_added(text) for text in self.said)

    def size_tokens(self, results: Mapping[str, Result]) -> int:
        """Return roughly how many tokens this exchange adds to a conversation."""
        came = [results[use.id].text for use in self.uses if use.id in results]
        return size_tokens([self.said, self.told, came, [use.input for use in self.uses]])


def _is_added(text: str) -> bool:
    return text.strip() in _ADDED or text.startswith("API Error")


@dataclass(frozen=True)
class Conversation:
    """The whole of it. `opening` is what stood before the model's first message."""

    opening: tuple[str, ...]
    exchanges: tuple[Exchange, ...]
    results: Mapping[str, Result]
    answered: frozenset[str]
    repeat: frozenset[str]

    @property
    def last_told(self) -> str:
        """The newest text the model was told."""
        told = self.exchanges[-1].told if self.exchanges else self.opening
        return told[-1] if told else ""


def of_last_task(messages: Sequence[Any]) -> Sequence[Any]:
    """Return the messages from the prompt of the latest task on: an agent's session goes on over several tasks."""
    for at in range(len(messages) - 1, 0, -1):
        message = messages[at]
        if isinstance(message, dict) and message.get("role") == "user":
            texts_of = (block.get("text") for block in _blocks(message) if block.get("type") == "text")
            if any(isinstance(text, str) and _TASK.search(without_reminders(text)) for text in texts_of):
                return messages[at:]
    return messages


def parse(messages: Sequence[Any]) -> Conversation:
    """Return the conversation about the latest task in the `messages` of a request; unknown shapes are passed over."""
    messages = of_last_task(messages)
    opening: list[str] = []
    exchanges: list[Exchange] = []
    results: dict[str, Result] = {}
    role = ""
    for message in messages:
        before, role = role, message.get("role", "") if isinstance(message, dict) else ""
        blocks = _blocks(message)
        if role == "assistant":
            if before != "assistant":
                exchanges.append(Exchange())
            _note_answer(exchanges[-1], blocks)
        elif role == "user":
            for text in (_text(block) for block in blocks if block.get("type") == "text"):
                _take_told(text, opening, exchanges, results)
            results.update(
                (str(block.get("tool_use_id")), _result(block)) for block in blocks if block.get("type") == "tool_result"
            )
        else:
            role = before  # Claude Code slips notes of role "system" in between
    marks = _MARKER.findall("\n".join(text for told in (opening, *(turn.told for turn in exchanges)) for text in told))
    ids = {word: frozenset(found for kind, found in marks if kind == word) for word in ("answered", "repeat")}
    return Conversation(tuple(opening), tuple(exchanges), results, ids["answered"], ids["repeat"] - ids["answered"])


def _take_told(text: str, opening: list[str], exchanges: list[Exchange], results: dict[str, Result]) -> None:
    """Take in what the model was told; calls that it is told it made stand in the conversation as if it remembered them."""
    (exchanges[-1].told if exchanges else opening).append(lost_calls.without(text))
    known = {use.id for exchange in exchanges for use in exchange.uses}
    for call in lost_calls.read(text):
        if call.id not in known:
            exchanges.append(Exchange(uses=[Use(call.tool, _object(call.input), id=call.id)]))
        if call.result is not None:
            results[call.id] = Result(call.result, is_error=call.failed)


def _object(text: str) -> Mapping[str, Any]:
    """A long input was cut, and is none any more."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def without_reminders(text: str) -> str:
    """Return what a person or another agent wrote: Claude Code's own notes are left out."""
    return _REMINDER.sub("", text)


def size_tokens(value: Any) -> int:
    """Return roughly how many tokens `value` has: a quarter of the length of its JSON."""
    return len(json.dumps(value, ensure_ascii=False)) // 4 if value else 0


def _blocks(message: Any) -> list[Mapping[str, Any]]:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text(block: Mapping[str, Any]) -> str:
    return texts.clean(str(block.get("text") or ""))


def _note_answer(exchange: Exchange, blocks: list[Mapping[str, Any]]) -> None:
    for block in blocks:
        if block.get("type") == "text":
            exchange.said.append(_text(block))
        elif block.get("type") == "tool_use":
            given = block.get("input")
            exchange.uses.append(Use(str(block.get("name")), given if isinstance(given, dict) else {}, id=str(block.get("id"))))


def _result(block: Mapping[str, Any]) -> Result:
    text = "\n".join(_text(part) for part in _blocks({"content": block.get("content")}) if part.get("type") == "text")
    return Result(text, is_error=block.get("is_error") is True)
