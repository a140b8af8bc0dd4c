"""Counting tokens once per message and cost once per process, whatever is replayed (design.md §8)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType


@dataclass(frozen=True)
class Tokens:
    """Tokens as the API counts them."""

    input: int = 0
    cache_creation: int = 0
    cache_read: int = 0
    output: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.input + other.input,
            self.cache_creation + other.cache_creation,
            self.cache_read + other.cache_read,
            self.output + other.output,
        )

    def __sub__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.input - other.input,
            self.cache_creation - other.cache_creation,
            self.cache_read - other.cache_read,
            self.output - other.output,
        )

    @property
    def total(self) -> int:
        """Everything that was paid for, cached parts included."""
        return self.input + self.cache_creation + self.cache_read + self.output

    @property
    def cached(self) -> int:
        """The part read from the cache."""
        return self.cache_read

    def highest(self, other: "Tokens") -> "Tokens":
        """The larger of each count: several rows of one message repeat the input and let the output grow."""
        return Tokens(
            max(self.input, other.input),
            max(self.cache_creation, other.cache_creation),
            max(self.cache_read, other.cache_read),
            max(self.output, other.output),
        )


@dataclass(frozen=True)
class Row:
    """One row of usage. `subagent` is the tool_use_id of the sub-agent that spent it, empty for the main thread."""

    message_id: str
    tokens: Tokens
    subagent: str = ""


@dataclass(frozen=True)
class Counted:
    """What rows add up to: `main` and each sub-agent apart."""

    main: Tokens = Tokens()
    subagents: Mapping[str, Tokens] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def all(self) -> Tokens:
        """Everything together."""
        return sum(self.subagents.values(), self.main)


def merge(known: Tokens | None, row: Tokens) -> tuple[Tokens, Tokens]:
    """Return what a message now counts as, and what that adds to before. A replayed row adds nothing."""
    before = known or Tokens()
    now = before.highest(row)
    return now, now - before


def count(rows: Iterable[Row]) -> Counted:
    """Return the sum over messages, each counted once under whoever was first seen to spend it.

    A row without an id cannot be recognised again and counts by itself.
    """
    messages: dict[str, Row] = {}
    for place, row in enumerate(rows):
        key = row.message_id or f"\0{place}"
        first = messages.get(key)
        messages[key] = replace(first, tokens=first.tokens.highest(row.tokens)) if first else row
    main, parts = Tokens(), dict[str, Tokens]()
    for row in messages.values():
        if row.subagent:
            parts[row.subagent] = parts.get(row.subagent, Tokens()) + row.tokens
        else:
            main = main + row.tokens
    return Counted(main, MappingProxyType(parts))


def cost_added(before_usd: float | None, report_usd: float) -> float:
    """Return what a process's report adds in USD, `before_usd` being the most it has reported so far (None: nothing yet).

    Reports are running totals of one process: a lower one is late or replayed and adds nothing, nor does one that is no money.
    """
    return max(0.0, report_usd - (before_usd or 0.0)) if math.isfinite(report_usd) else 0.0


def total_cost(reports: Iterable[tuple[str, float]]) -> float | None:
    """Return the USD of all processes from their `(process, running total)` reports, in any order and however often repeated.

    Every process starts at 0 again, so each counts with the most it has reported. None where nothing was ever reported.
    """
    highest: dict[str, float] = {}
    for process, usd in reports:
        if math.isfinite(usd) and usd >= 0:
            highest[process] = max(usd, highest.get(process, 0.0))
    return math.fsum(highest.values()) if highest else None
