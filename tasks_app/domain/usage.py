"""Counting tokens once per message and cost once per process, whatever is replayed."""

import math
from dataclasses import dataclass


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


def merge(known: Tokens | None, row: Tokens) -> tuple[Tokens, Tokens]:
    """Return what a message now counts as, and what that adds to before. A replayed row adds nothing."""
    before = known or Tokens()
    now = before.highest(row)
    return now, now - before


def cost_added(before_usd: float | None, report_usd: float) -> float:
    """Return what a process's report adds in USD, `before_usd` being the most it has reported so far (None: nothing yet).

    Reports are running totals of one process: a lower one is late or replayed and adds nothing, nor does one that is no money.
    """
    return max(0.0, report_usd - (before_usd or 0.0)) if math.isfinite(report_usd) else 0.0
