"""Estimates of tokens, cost and time: a starting table, then what this installation's own finished attempts took.

Figures are spreads, never a single number: half of what is expected lies between `low` and `high`. Where the spread comes from
is part of the estimate, so that nobody takes a table for experience.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tasks_app.domain.context import WARN_AT

ENOUGH: Final = 5
"""So many finished attempts of a kind are needed before they outweigh the table."""
CREATION_TOKENS: Final = 500
"""What creating one task costs, in tokens."""


class Size(StrEnum):
    """How large a task is, by its expected minutes."""

    SMALL = "small"  # up to 10 minutes
    MEDIUM = "medium"  # up to 30
    LARGE = "large"


def size_of(expected_max_min: float) -> Size:
    """Return the size of a task from the upper end of its window, in minutes."""
    if expected_max_min <= 10:
        return Size.SMALL
    return Size.MEDIUM if expected_max_min <= 30 else Size.LARGE


def expected_minutes_of(size: Size) -> tuple[float, float | None]:
    """Return the expected minutes of a size: above the first, up to the second (None: any)."""
    return {Size.SMALL: (-1.0, 10.0), Size.MEDIUM: (10.0, 30.0), Size.LARGE: (30.0, None)}[size]


@dataclass(frozen=True)
class Spread:
    """A quarter lies below `low`, half below `typical`, a quarter above `high`."""

    low: float
    typical: float
    high: float

    def __add__(self, other: "Spread") -> "Spread":
        return Spread(self.low + other.low, self.typical + other.typical, self.high + other.high)


STARTING: Final = {
    Size.SMALL: Spread(2_000, 3_500, 5_000),
    Size.MEDIUM: Spread(10_000, 17_000, 25_000),
    Size.LARGE: Spread(50_000, 75_000, 120_000),
}
"""New tokens of one attempt (input and output, not what is read from the cache), before anything is known, by size."""


@dataclass(frozen=True)
class Kind:
    """What decides how much a task takes."""

    type: str
    size: Size
    role: str = ""
    model: str = ""


@dataclass(frozen=True)
class Finished:
    """What one finished task took in all its attempts; minutes are working time.

    `tokens` without cache reads; `usd` None where no cost was reported.
    """

    kind: Kind
    tokens: int
    minutes: float
    usd: float | None = None
    context_added: int | None = None  # by how much it filled the context of its session; None: not known


@dataclass(frozen=True)
class Estimate:
    """What a task will probably take. `usd` and `context` are None where too little is known of them."""

    tokens: Spread
    minutes: Spread | None
    usd: Spread | None
    context: Spread | None
    attempts: int  # finished ones it was learned from; 0: the starting table
    basis: str  # where it comes from, in words


def estimate(kind: Kind, finished: Sequence[Finished], *, expected_min: tuple[float, float]) -> Estimate:
    """Return what a task of `kind` will probably take: from the closest kind of which there is enough, else from the table."""
    for words, same in _ladder(kind):
        rows = [row for row in finished if same(row.kind)]
        if len(rows) >= ENOUGH:
            return _learned(rows, f"{len(rows)} finished {words}")
    low, high = expected_min
    window = Spread(low, (low + high) / 2, high)
    return Estimate(STARTING[kind.size], window, None, None, 0, f"starting table, {kind.size.value} task")


def _ladder(kind: Kind) -> list[tuple[str, Callable[[Kind], bool]]]:
    """From the closest kind to the widest; a type is never mixed with another, for one runs a model and another a command."""

    def alike(*names: str) -> Callable[[Kind], bool]:
        return lambda other: all(getattr(other, name) == getattr(kind, name) for name in ("type", *names))

    of_model = f"with {kind.model}" if kind.model else "with the default model"
    of_role = f"by {kind.role}" if kind.role else "by any role"
    return [
        (f"{kind.size.value} tasks {of_role} {of_model}", alike("size", "role", "model")),
        (f"{kind.size.value} tasks {of_model}", alike("size", "model")),
        (f"{kind.size.value} tasks {of_role}", alike("size", "role")),
        (f"{kind.size.value} tasks", alike("size")),
    ]


def _learned(rows: Sequence[Finished], basis: str) -> Estimate:
    tokens = spread(row.tokens for row in rows)
    added = [row.context_added for row in rows if row.context_added is not None]
    assert tokens is not None  # noqa: S101 - there are at least ENOUGH rows
    return Estimate(
        tokens=tokens,
        minutes=spread(row.minutes for row in rows),
        usd=spread(row.usd for row in rows if row.usd is not None),
        context=spread(added) if len(added) >= ENOUGH else None,
        attempts=len(rows),
        basis=basis,
    )


def spread(values: Iterable[float]) -> Spread | None:
    """Return the quartiles of `values`, None of nothing."""
    known = sorted(values)
    if not known:
        return None
    if len(known) == 1:
        return Spread(known[0], known[0], known[0])
    low, typical, high = statistics.quantiles(known, n=4, method="inclusive")
    return Spread(low, typical, high)


@dataclass(frozen=True)
class Total:
    """What a plan will probably take. `usd` counts the tasks of which a cost is known: `usd_known` of `tasks`."""

    tokens: Spread
    usd: Spread | None
    usd_known: int
    tasks: int
    learned: int  # tasks whose estimate comes from finished attempts


def total(estimates: Sequence[Estimate]) -> Total:
    """Return the sum over tasks, with what creating them costs. Ends of spreads add up, which is wide on purpose."""
    tokens = Spread(0, 0, 0)
    for one in estimates:
        tokens += one.tokens
    creating = CREATION_TOKENS * len(estimates)
    costs = [one.usd for one in estimates if one.usd is not None]
    usd = None
    for cost in costs:
        usd = cost if usd is None else usd + cost
    learned = sum(1 for one in estimates if one.attempts)
    return Total(tokens + Spread(creating, creating, creating), usd, len(costs), len(estimates), learned)


LEAST_USD: Final = 0.10
"""Less than this for each task of a plan is hardly enough for anything."""


def short_of(expected: Total, *, usd: float | None, tokens: int | None) -> str:
    """Return why a budget will probably not do for a plan, in a sentence; empty where nothing speaks against it."""
    if tokens and expected.tokens.typical > tokens:
        return f"Such tasks take about {expected.tokens.typical:,.0f} new tokens together; the budget is {tokens:,}."
    if usd is None or not expected.tasks:
        return ""
    if expected.usd is not None and expected.usd.typical > usd:
        return f"Such tasks cost about ${expected.usd.typical:,.2f} together; the budget is ${usd:,.2f}."
    each = usd / expected.tasks
    if expected.usd is None and each < LEAST_USD:
        return f"The budget is ${usd:,.2f} for {expected.tasks:,} tasks: ${each:,.2f} for each."
    return ""


@dataclass(frozen=True)
class Room:
    """Whether a task fits in what is left of an agent's context."""

    needs: int  # tokens of context the task will probably need
    left: int  # tokens until the session counts as full (80 % of the window)
    fits: bool


def room(needs: Spread | None, *, used: int | None, window: int | None) -> Room | None:
    """Return whether a task that typically needs so much context fits the session, None where either is unknown."""
    if needs is None or used is None or not window:
        return None
    left = max(0, window * WARN_AT // 100 - used)
    return Room(round(needs.typical), left, needs.typical <= left)


def on_pace_for(spent: float, *, done: Sequence[float], open_: Sequence[float]) -> float | None:
    """Return where spending leads: what was spent on the done tasks, and for each open one its need, scaled by how those did.

    `done` and `open_` are typical needs of finished and unfinished tasks, in any one unit: the answer is in the unit of `spent`.
    None before anything is done or known to be spent.
    """
    expected = sum(done)
    if expected <= 0 or spent <= 0:
        return None
    return spent + sum(open_) * (spent / expected)


@dataclass(frozen=True)
class Course:
    """How far a team has come: the typical needs of its tasks, and what was spent on the done ones and on those given up.

    What people did by hand is neither done nor open here: it tells nothing of what agents spend.
    """

    done: tuple[float, ...] = ()
    open: tuple[float, ...] = ()
    done_usd: float = 0.0
    done_tokens: int = 0
    cancelled_usd: float = 0.0
    cancelled_tokens: int = 0

    def total_usd(self, spent: float) -> float | None:
        """Return what the whole team will have cost in USD, never less than what it has `spent`; None: not known yet."""
        return self._total(spent, self.done_usd, self.cancelled_usd)

    def total_tokens(self, spent: int) -> float | None:
        """Return the same in tokens."""
        return self._total(spent, self.done_tokens, self.cancelled_tokens)

    def _total(self, spent: float, done: float, cancelled: float) -> float | None:
        ahead = on_pace_for(done, done=self.done, open_=self.open)
        return None if ahead is None else max(spent, ahead + cancelled)
