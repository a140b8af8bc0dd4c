"""Turns what Claude Code says into the steps of a run: cleaned, masked, size-capped, each token counted once."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ConversationResetMessage,
    Message,
    MirrorErrorMessage,
    RateLimitEvent,
    ResultMessage,
    ServerToolResultBlock,
    ServerToolUseBlock,
    SystemMessage,
    TaskNotificationMessage,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from tasks_app.domain.statuses import StepKind
from tasks_app.domain.text import one_line
from tasks_app.runners.claude import usage
from tasks_app.runners.claude.content import kept, kept_json, result_text
from tasks_app.runners.claude.stream import MALFORMED
from tasks_app.runners.port import StepDraft

SILENT = frozenset({"init", "session_state_changed", "background_tasks_changed", "status", "thinking_tokens"})
"""System messages that say nothing a lead would read; `conversation.py` and `turns.py` use them."""
INTERRUPTED = "[Request interrupted by user"


@dataclass
class Translator:
    """Translates the stream of one process; remembers what is needed to count and to name."""

    process: str  # for `Cost` and the ledger: run id, fence and a counter
    ledger: usage.Ledger = field(init=False)
    unknown: Counter[str] = field(default_factory=Counter)
    model: str = ""
    window: int | None = None
    plans: dict[str, str] = field(default_factory=dict)  # tool_use_id of ExitPlanMode → the plan in it
    subagents: dict[str, str] = field(default_factory=dict)  # agent id → what it was started for

    def __post_init__(self) -> None:
        self.ledger = usage.Ledger(self.process)

    def steps(self, message: Message) -> list[StepDraft]:
        """Return the steps of one message, in order; often none."""
        translate = _TRANSLATORS.get(type(message))
        if translate is None:
            return self.unreadable(type(message).__name__, {})
        return list(self._readable(message, translate(self, message)))

    def _readable(self, message: object, steps: Iterator[StepDraft]) -> Iterator[StepDraft]:
        """Yield these steps; where the message, or a block of one, does not look as expected that is one more."""
        try:
            yield from steps
        except MALFORMED as problem:
            yield from self.malformed(message, problem)

    def malformed(self, message: object, problem: Exception) -> list[StepDraft]:
        """`unreadable` of a message that the SDK could parse."""
        name = f"malformed {type(message).__name__}"
        return self.unreadable(name, {"problem": str(problem)[:500], "message": repr(message)})

    def unreadable(self, kind: str, data: Mapping[str, Any]) -> list[StepDraft]:
        """Count a message of an unknown kind; the first of each kind is kept, the rest only counted."""
        name = one_line(kind, 80)
        self.unknown[name] += 1
        if self.unknown[name] > 1:
            return []
        text = f"Claude Code sent “{name}”, which Crewdesk does not know."
        return [StepDraft(StepKind.NOTICE, text, {"unknown": name, **kept_json(data)})]

    def _assistant(self, message: AssistantMessage) -> Iterator[StepDraft]:
        if message.model == usage.SYNTHETIC or message.error:
            yield from self._synthetic(message)
            return
        counted = self.ledger.message(message)
        tokens = usage.context_tokens(message)
        if tokens is not None:
            self.model = message.model
        steps = [step for block in message.content for step in self._readable(block, self._block(block, message))]
        if not steps and (counted or tokens):
            steps = [StepDraft(StepKind.NOTICE, "", {"silent": True}, parent_tool_use_id=message.parent_tool_use_id or "")]
        for index, step in enumerate(steps):
            if step.kind is StepKind.TOOL_CALL:
                step = replace(step, message_id=str(message.message_id or ""))
            if index == 0:
                window = self.window if tokens is not None else None
                step = replace(step, usage=counted, context_tokens=tokens, context_window=window)
            yield step

    def _synthetic(self, message: AssistantMessage) -> Iterator[StepDraft]:
        text = "".join(block.text for block in message.content if isinstance(block, TextBlock))
        words = one_line(text.split("{", 1)[0].strip(" ·:-"), 300) or "Claude Code reports an API error."
        yield StepDraft(
            StepKind.NOTICE,
            words,
            {"error": message.error or "", "raw": kept(text).text},
            parent_tool_use_id=message.parent_tool_use_id or "",
        )

    def _block(self, block: object, message: AssistantMessage) -> Iterator[StepDraft]:
        parent = message.parent_tool_use_id or ""
        if isinstance(block, TextBlock):
            said = kept(block.text)
            if said.text:
                where = {"uuid": message.uuid} if message.uuid else {}  # its name in the transcript: one can fork from it
                yield StepDraft(StepKind.SAID, said.text, {**where, **said.facts}, parent_tool_use_id=parent)
        elif isinstance(block, ThinkingBlock):
            thought = kept(block.thinking)
            yield StepDraft(StepKind.THOUGHT, thought.text, thought.facts, parent_tool_use_id=parent)
        elif isinstance(block, ToolUseBlock | ServerToolUseBlock):
            yield self._call(block, parent)
        elif isinstance(block, ToolResultBlock | ServerToolResultBlock):
            yield _result(block, parent, {})

    def _call(self, block: ToolUseBlock | ServerToolUseBlock, parent: str) -> StepDraft:
        given: Mapping[str, Any] = block.input if isinstance(block.input, dict) else {"value": block.input}
        if block.name == "ExitPlanMode" and isinstance(given.get("plan"), str):
            self.plans[block.id] = given["plan"]
        text = one_line(block.name, 200)
        return StepDraft(
            StepKind.TOOL_CALL, text, {"tool": text, **kept_json(given)}, tool_use_id=block.id, parent_tool_use_id=parent
        )

    def _user(self, message: UserMessage) -> Iterator[StepDraft]:
        parent = message.parent_tool_use_id or ""
        blocks = [TextBlock(message.content)] if isinstance(message.content, str) else message.content
        for block in blocks:
            if isinstance(block, ToolResultBlock):
                yield _result(block, parent, {})
            elif isinstance(block, TextBlock):
                yield _told(block.text, message, parent)

    def _result_message(self, message: ResultMessage) -> Iterator[StepDraft]:
        self.window = usage.context_window(message, self.model) or self.window
        cost = usage.cost(message, self.process)
        counted = self.ledger.result(message)
        text = kept(message.result if isinstance(message.result, str) else "")
        data = {
            "subtype": message.subtype,
            "is_error": message.is_error,
            "turns": message.num_turns,
            "duration_ms": message.duration_ms,
            "terminal_reason": message.terminal_reason or "",
            "origin": message.origin.get("kind", "") if message.origin else "",
            "unknown": dict(self.unknown),
            **text.facts,
        }
        first = counted[0] if counted else None
        yield StepDraft(StepKind.RESULT, text.text, data, usage=first, cost=cost, context_window=self.window)
        for more in counted[1:]:
            yield StepDraft(StepKind.NOTICE, "", {"silent": True}, usage=more)

    def _rate_limit(self, event: RateLimitEvent) -> Iterator[StepDraft]:
        info = event.rate_limit_info
        if info.status == "allowed":
            return
        data = {"status": info.status, "resets_at": info.resets_at, "utilization": info.utilization, "type": info.rate_limit_type}
        used = f" ({info.utilization:.0%} used)" if isinstance(info.utilization, int | float) else ""
        words = "The API limits this account." if info.status == "rejected" else f"The rate limit comes near{used}."
        yield StepDraft(StepKind.NOTICE, words, data)

    def _started(self, message: TaskStartedMessage) -> Iterator[StepDraft]:
        self.subagents[message.task_id] = one_line(message.description, 200)
        data = {"task_id": message.task_id, "state": "started", "type": message.task_type or ""}
        yield _subtask(message.description, data, message.tool_use_id)

    def _progress(self, message: TaskProgressMessage) -> Iterator[StepDraft]:
        data = {
            "task_id": message.task_id,
            "state": "working",
            "tool": message.last_tool_name or "",
            "tokens": usage.number(message.usage.get("total_tokens")),
            "tool_uses": usage.number(message.usage.get("tool_uses")),
        }
        yield _subtask(message.description, data, message.tool_use_id)

    def _updated(self, message: TaskUpdatedMessage) -> Iterator[StepDraft]:
        if message.status:
            data = {"task_id": message.task_id, "state": message.status}
            yield _subtask(self.subagents.get(message.task_id, ""), data, None)

    def _notified(self, message: TaskNotificationMessage) -> Iterator[StepDraft]:
        yield _subtask(message.summary, {"task_id": message.task_id, "state": message.status}, message.tool_use_id)

    def _system(self, message: SystemMessage) -> Iterator[StepDraft]:
        if message.subtype in SILENT:
            self.model = str(message.data.get("model") or self.model) if message.subtype == "init" else self.model
        elif message.subtype == "compact_boundary":
            yield StepDraft(StepKind.NOTICE, "The conversation was compacted.", kept_json(message.data), context_reset=True)
        elif message.subtype == "api_retry":
            yield StepDraft(StepKind.NOTICE, "The API did not answer; Claude Code tries again.", kept_json(message.data))
        else:
            yield from self.unreadable(f"system/{message.subtype}", message.data)

    def _reset(self, message: ConversationResetMessage) -> Iterator[StepDraft]:
        yield StepDraft(StepKind.NOTICE, "The conversation was reset.", context_reset=True)

    def _mirror(self, message: MirrorErrorMessage) -> Iterator[StepDraft]:
        text = one_line(message.error, 300)
        yield StepDraft(StepKind.NOTICE, f"A part of the transcript could not be stored: {text}", {"transcript_gap": True})


_TRANSLATORS: dict[type, Callable[[Translator, Any], Iterator[StepDraft]]] = {
    AssistantMessage: Translator._assistant,
    UserMessage: Translator._user,
    ResultMessage: Translator._result_message,
    RateLimitEvent: Translator._rate_limit,
    TaskStartedMessage: Translator._started,
    TaskProgressMessage: Translator._progress,
    TaskUpdatedMessage: Translator._updated,
    TaskNotificationMessage: Translator._notified,
    MirrorErrorMessage: Translator._mirror,
    ConversationResetMessage: Translator._reset,
    SystemMessage: Translator._system,
}


def _result(block: ToolResultBlock | ServerToolResultBlock, parent: str, extra: Mapping[str, Any]) -> StepDraft:
    content = block.content if isinstance(block.content, str | list | None) else [block.content]
    text = kept(result_text(content))
    data = {"is_error": bool(getattr(block, "is_error", None)), **text.facts, **extra}
    return StepDraft(StepKind.TOOL_RESULT, text.text, data, tool_use_id=block.tool_use_id, parent_tool_use_id=parent)


def _told(text: str, message: UserMessage, parent: str) -> StepDraft:
    """A user-role row that we did not send: a notification, an interruption or a sub-agent's prompt. Never the human."""
    said = kept(text)
    if text.startswith(INTERRUPTED):
        return StepDraft(StepKind.NOTICE, "The turn was interrupted.", parent_tool_use_id=parent)
    if parent:
        return StepDraft(StepKind.PROMPT, said.text, {"from": "agent", **said.facts}, parent_tool_use_id=parent)
    origin = message.origin.get("kind", "unclassified") if message.origin else "unclassified"
    label = "notification" if origin in ("task-notification", "unclassified") else "agent"
    return StepDraft(StepKind.NOTICE, said.text, {"from": label, "origin": origin, **said.facts})


def _subtask(text: str, data: Mapping[str, Any], tool_use_id: str | None) -> StepDraft:
    said = kept(text)
    return StepDraft(StepKind.SUBTASK, said.text, {**data, **said.facts}, tool_use_id=tool_use_id or "")
