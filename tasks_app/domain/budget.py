"""Budgets: levels, safe defaults, how a team stands, and from when on a pace of spending is given."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from tasks_app.domain.errors import Invalid

WRAP_UP_AT: Final = 0.80
CHECKPOINT_AT: Final = 0.95
DEFAULT_TEAM_USD: Final = 20.0
DEFAULT_TEAM_TOKENS: Final = 20_000_000
DEFAULT_SERVER_USD_A_DAY: Final = 200.0
"""What holds where no limit was set: enough for honest work of an afternoon, and a bound for a loop."""
MIN_USD: Final = Decimal("0.01")
MAX_USD: Final = Decimal(1_000_000)
MAX_TOKENS: Final = 10**12
"""What a limit may be, whoever sets it: less than a cent would be stored as nothing and be used up from the start."""
PACE_MIN_S: Final = 600.0
"""A forecast from less than this is a guess and is not given."""


def amounts(usd: object, tokens: object) -> tuple[Decimal | None, int | None]:
    """Return a limit as it is stored; None or empty: none. Raises `Invalid` for what no limit may be."""
    try:
        dollars = Decimal(str(usd)) if usd not in (None, "") else None
        count = int(str(tokens)) if tokens not in (None, "") else None
    except (ArithmeticError, ValueError):
        raise Invalid("A budget is a number: USD such as 12.50, tokens such as 500000.", field="budget") from None
    if dollars is not None and not (dollars.is_finite() and MIN_USD <= dollars <= MAX_USD):
        raise Invalid(f"The budget must be at least {MIN_USD} and at most {MAX_USD:,} USD.", field="usd")
    if count is not None and not 0 < count <= MAX_TOKENS:
        raise Invalid(f"The budget must be above 0 and at most {MAX_TOKENS:,} tokens.", field="tokens")
    return dollars, count


class Level(StrEnum):
    """How far a budget is used up, and what follows from it."""

    OK = "ok"
    WRAP_UP = "wrap_up"  # 80 %: the agent is told to come to an end
    CHECKPOINT = "checkpoint"  # 95 %: what is done is saved
    USED_UP = "used_up"  # 100 %: interrupt, park, ask the lead


@dataclass(frozen=True)
class Limit:
    """One limit: `used` of `limit` (USD or tokens, the same unit) at `scope` (server, team, task, run)."""

    scope: str
    used: float
    limit: float

    @property
    def fraction(self) -> float:
        """Share used: 0.8 at 80 %, above 1 when overshot. A limit of 0 or less is used up from the start."""
        return self.used / self.limit if self.limit > 0 else float("inf")


def spent(amount: str, limit: str = "") -> str:
    """Return a cost and its budget, both in words: `$4.62 of $60`; without a cost `cost not reported (budget $60)`.

    A cost that nobody has told yet is neither 0 nor a part of anything.
    """
    if not amount:
        return f"cost not reported (budget {limit})" if limit else "cost not reported"
    return f"{amount} of {limit}" if limit else amount


def over(used: float | None, limit: float | None) -> float:
    """Return how far `used` is above `limit`, in their unit; 0 where it is not, or where one of them is not known."""
    return max(0.0, round(float(used) - float(limit), 6)) if used is not None and limit is not None else 0.0


@dataclass(frozen=True)
class Stand:
    """How a team stands with its own budgets: the limits that hold, and by how much each is overshot (0: not)."""

    limit_usd: float
    limit_tokens: int
    over_usd: float
    over_tokens: int
    used_up: bool  # one of them: then no new task starts


def of_team(used_usd: float, used_tokens: int, usd: Decimal | None, tokens: int | None) -> Stand:
    """Return how a team stands with its budgets; where none is set (None) the safe default holds."""
    limit_usd = float(usd) if usd is not None else DEFAULT_TEAM_USD
    limit_tokens = tokens or DEFAULT_TEAM_TOKENS
    used_up = used_usd >= limit_usd or used_tokens >= limit_tokens
    return Stand(limit_usd, limit_tokens, over(used_usd, limit_usd), int(over(used_tokens, limit_tokens)), used_up)


def level(used: float, limit: float) -> Level:
    """Return how far `used` of `limit` is; both in the same unit. A limit of 0 or less is used up."""
    fraction = Limit("", used, limit).fraction
    if fraction >= 1:
        return Level.USED_UP
    if fraction >= CHECKPOINT_AT:
        return Level.CHECKPOINT
    return Level.WRAP_UP if fraction >= WRAP_UP_AT else Level.OK
