"""Counts the tokens of one Claude Code process: each API message once, output completed from the results.

A message arrives as several rows with the same id; while it streams its output count is not final. The result of a
turn has the sum of the main thread, `model_usage` that of everything in the process. What neither the rows nor the turn
explain (sub-agents' last words, titles) is counted under a message id of our own, so that the sum is what is billed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from claude_agent_sdk import AssistantMessage, ResultMessage

from tasks_app.runners.port import Cost, Usage

SYNTHETIC = "<synthetic>"
"""The model of rows that Claude Code wrote itself (API errors): they cost nothing and say nothing about the context."""
CUT_OFF = "aborted_streaming"
"""Why a turn ended that was interrupted while the model spoke; `aborted_tools` is one whose response was whole."""
COUNTED = ("input_tokens", "cache_creation_tokens", "cache_read_tokens", "output_tokens")
MODEL_USAGE = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")


@dataclass
class Ledger:
    """The tokens of one process. Whoever stores a `Usage` replaces an earlier one of the same message id."""

    process: str
    _seen: dict[str, Usage] = field(default_factory=dict)
    _turn: dict[str, None] = field(default_factory=dict)  # main-thread messages since the last result, in order
    _explained: dict[str, Usage] = field(default_factory=dict)  # by model: the rest reported so far

    def message(self, message: AssistantMessage) -> Usage | None:
        """Return what this row adds to what is known of its message, None where nothing."""
        if not message.usage or not message.message_id or message.model == SYNTHETIC:
            return None
        new = _usage(message)
        old = self._seen.get(new.message_id)
        if old is not None:
            new = _largest(old, new)
        if not new.subagent:
            self._turn[new.message_id] = None
        if new == old:
            return None
        self._seen[new.message_id] = new
        return new

    def result(self, message: ResultMessage) -> list[Usage]:
        """Return the counts that a result completes: the last message of its turn, and per model what is left over."""
        found = self._complete_turn(message.usage or {})
        for model, totals in by_model(message):
            rest = self._rest(model, totals)
            if rest is not None:
                found.append(rest)
        return found

    def _complete_turn(self, totals: Mapping[str, Any]) -> list[Usage]:
        turn, self._turn = list(self._turn), {}
        missing = number(totals.get("output_tokens")) - sum(self._seen[name].output_tokens for name in turn)
        if not turn or missing <= 0:
            return []
        last = self._seen[turn[-1]]
        self._seen[last.message_id] = replace(last, output_tokens=last.output_tokens + missing)
        return [self._seen[last.message_id]]

    def _rest(self, model: str, totals: Mapping[str, Any]) -> Usage | None:
        known = [usage for usage in self._seen.values() if base_model(usage.model) == base_model(model)]
        rest = [
            max(0, number(totals.get(theirs)) - sum(getattr(usage, ours) for usage in known))
            for ours, theirs in zip(COUNTED, MODEL_USAGE, strict=True)
        ]
        usage = Usage(f"{self.process}/{base_model(model)}", base_model(model), *rest)
        if not any(rest) or usage == self._explained.get(model):
            return None
        self._explained[model] = usage
        return usage


def context_tokens(message: AssistantMessage) -> int | None:
    """Return how much the model had in its context for this main-thread response; None where the row does not say."""
    if message.parent_tool_use_id or not message.usage or message.model == SYNTHETIC:
        return None
    usage = _usage(message)
    return (usage.input_tokens + usage.cache_creation_tokens + usage.cache_read_tokens) or None


def by_model(message: ResultMessage) -> list[tuple[str, Mapping[str, Any]]]:
    """Return what each model has used in the process; one of which nothing is said is left out."""
    return [(model, totals) for model, totals in (message.model_usage or {}).items() if isinstance(totals, Mapping)]


def context_window(message: ResultMessage, model: str) -> int | None:
    """Return the window of `model` as the process reports it, None where it does not."""
    for name, totals in by_model(message):
        if base_model(name) == base_model(model):
            return number(totals.get("contextWindow")) or None
    return None


def cost(message: ResultMessage, process: str) -> Cost | None:
    """Return what the process says it has cost so far, None where it does not.

    What an interrupted response had said by then is paid for; Claude Code learns its output tokens at its end only.
    """
    if message.total_cost_usd is None:
        return None
    return Cost(process, max(0.0, float(message.total_cost_usd)), partial=message.terminal_reason == CUT_OFF)


def base_model(model: str) -> str:
    """`claude-x[1m]` and `claude-x` are one model with two windows."""
    return model.partition("[")[0]


def number(value: Any) -> int:
    """Return a count from the wire: never negative, never anything but a whole number."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return max(0, int(value)) if usable else 0


def _usage(message: AssistantMessage) -> Usage:
    raw = message.usage or {}
    return Usage(
        message_id=str(message.message_id or ""),
        model=base_model(message.model),
        input_tokens=number(raw.get("input_tokens")),
        cache_creation_tokens=number(raw.get("cache_creation_input_tokens")),
        cache_read_tokens=number(raw.get("cache_read_input_tokens")),
        output_tokens=number(raw.get("output_tokens")),
        subagent=message.parent_tool_use_id or "",
    )


def _largest(old: Usage, new: Usage) -> Usage:
    return replace(old, **{name: max(getattr(old, name), getattr(new, name)) for name in COUNTED})
