"""How full an agent's context is: tokens of the last main-thread response over the model's window."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

WARN_AT: Final = 80
CRITICAL_AT: Final = 90
DEFAULT_WINDOW: Final = 200_000
LONG_WINDOW: Final = 1_000_000


class Level(StrEnum):
    """What a context asks for."""

    UNKNOWN = "unknown"  # before the first response, and after compaction until the next one
    OK = "ok"
    WARN = "warn"  # 80 %: no new task in this session
    CRITICAL = "critical"  # 90 %


@dataclass(frozen=True)
class Usage:
    """A reading. `percent` is a whole number, rounded half up, and may be above 100; None where it is not known."""

    percent: int | None
    level: Level
    over: bool = False
    """More than fits by our figures: shown as `>100 %`, the bar stays full."""

    @property
    def bar(self) -> int:
        """The percentage for a bar: 0 to 100; 0 where unknown."""
        return min(self.percent or 0, 100)


UNKNOWN: Final = Usage(None, Level.UNKNOWN)


def tokens(*, input_tokens: int, cache_creation_tokens: int, cache_read_tokens: int) -> int:
    """Return how many tokens of context one response had."""
    return input_tokens + cache_creation_tokens + cache_read_tokens


REPORTED_WINDOWS: Final = {
    "claude-opus-5-5": LONG_WINDOW,
    "claude-sonnet-5-5": LONG_WINDOW,
    "claude-haiku-5-5": LONG_WINDOW,
    "claude-sonnet-4-5": DEFAULT_WINDOW,
    "claude-haiku-4-5": DEFAULT_WINDOW,
}
"""What Claude Code 2.1.332 itself reports as `contextWindow` of these models, measured. The report of a process outranks it."""


def reported_window(model: str) -> int | None:
    """Return the window that Claude Code reports for a model (a dated name counts as its model), None where it is not known."""
    name = model.strip().lower()
    if name.endswith("[1m]"):
        return LONG_WINDOW
    return next((window for known, window in REPORTED_WINDOWS.items() if name == known or name.startswith(f"{known}-")), None)


def usage(used: int | None, window: int | None) -> Usage:
    """Return the reading for `used` tokens of a `window`; unknown where either is. Levels go by the exact share."""
    if used is None or not window or window < 0 or used < 0:
        return UNKNOWN
    percent = (used * 200 + window) // (window * 2)  # half up, in whole numbers
    return Usage(percent, _level(used, window), over=used > window)


def _level(used: int, window: int) -> Level:
    if used * 100 >= window * CRITICAL_AT:
        return Level.CRITICAL
    return Level.WARN if used * 100 >= window * WARN_AT else Level.OK


@dataclass(frozen=True)
class Reading:
    """What some steps said of a context: its tokens now (None: unknown, after a compaction), its window, first and highest.

    `measured`: they said something of the tokens at all; else only the window was reported.
    """

    tokens: int | None = None
    window: int | None = None
    first: int | None = None
    peak: int = 0
    measured: bool = False
