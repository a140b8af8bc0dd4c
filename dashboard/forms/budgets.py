"""A change of a budget before it is made: old, new and difference, in words; a raise is asked for twice."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.http import QueryDict

from dashboard.forms import fields
from dashboard.templatetags.crew_format import usd
from tasks_app.domain.budget import DEFAULT_TEAM_TOKENS, DEFAULT_TEAM_USD
from tasks_app.domain.errors import DomainError

NO_LIMIT = "no limit"
TEAM = (Decimal(str(DEFAULT_TEAM_USD)), Decimal(DEFAULT_TEAM_TOKENS))
"""What holds where a team has no budget of its own, in USD and in tokens."""
NONE = (None, None)
CENT = Decimal("0.01")
SHARES = (Decimal("0.25"), Decimal("0.5"), Decimal(1))
"""By how much of the limit a raise is offered."""
Amount = Decimal | int | float | None
Limits = tuple[Decimal | None, Decimal | None]


@dataclass(frozen=True)
class Line:
    """One unit of the change, in words: `$20.00`, `$30.00`, `$10.00 more`."""

    unit: str
    old: str
    new: str
    difference: str
    up: bool


@dataclass(frozen=True)
class Change:
    """What a form would change. `seen` names the change: only the one that was shown is made."""

    lines: tuple[Line, ...]
    usd: str
    tokens: str
    seen: str

    @property
    def raises(self) -> bool:
        """Whether more may be used than before."""
        return any(line.up for line in self.lines)

    def __str__(self) -> str:
        """`$20.00 before, $30.00 now ($10.00 more)`."""
        said = [f"{line.old} before, {line.new} now ({line.difference})" for line in self.lines]
        return "; ".join(said) or "nothing changes"


@dataclass(frozen=True)
class Offer:
    """One raise that a request for more budget offers: its value in the form, by how much, and the limit it makes."""

    value: str
    by: str
    new: str


def read(post: QueryDict, *, old: tuple[Amount, Amount], unset: Limits = NONE) -> Change:
    """Return the change that the form asks for. `unset`: what holds where a field is empty; None: no limit. Raises `Invalid`."""
    new = (fields.money(post, "usd"), fields.count(post, "tokens"))
    lines = [
        line
        for unit, mine, theirs, default in zip(("usd", "tokens"), old, new, unset, strict=True)
        if (line := _line(unit, _number(mine, default), _number(theirs, default)))
    ]
    seen = "|".join(f"{line.unit} {line.old} {line.new}" for line in lines)
    return Change(tuple(lines), post.get("usd", "").strip()[:30], post.get("tokens", "").strip()[:30], seen)


def to_confirm(post: QueryDict, *, old: tuple[Amount, Amount], unset: Limits = NONE) -> Change | None:
    """Return the raise that has yet to be confirmed; None where there is none, or where the form is to be refused."""
    try:
        found = read(post, old=old, unset=unset)
    except DomainError:
        return None
    return found if found.raises and post.get("seen") != found.seen else None


def offers(payload: Mapping[str, Any]) -> list[Offer]:
    """Return the raises on offer for a budget that is used up; each leaves something to be used."""
    unit = "tokens" if payload.get("limit_tokens") and not payload.get("limit_usd") else "usd"
    limit, used = (_shown(payload.get(f"{name}_{unit}")) for name in ("limit", "used"))
    if limit <= 0:
        return []
    found = []
    for share in SHARES:
        by = limit * share if limit * (1 + share) > used else used - limit + limit * share
        by = max(by.quantize(CENT if unit == "usd" else Decimal(1), ROUND_HALF_UP), CENT if unit == "usd" else Decimal(1))
        found.append(Offer(str(by), _word(unit, by), _word(unit, limit + by)))
    return found


def raised(payload: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """Return what an answer has raised a limit from and to: `$20.00 before, $25.00 now ($5.00 more)`; nothing for no raise."""
    for unit in ("usd", "tokens"):
        if data.get(unit) and payload.get(f"limit_{unit}"):
            old, more = _shown(payload[f"limit_{unit}"]), _shown(data[unit])
            return f"{_word(unit, old)} before, {_word(unit, old + more)} now ({_word(unit, more)} more)"
    return ""


def _shown(value: object) -> Decimal:
    """Return an amount out of a request, 0 for what is none."""
    try:
        amount = Decimal(str(value or 0))
    except ArithmeticError:
        return Decimal(0)
    return amount if amount.is_finite() else Decimal(0)


def _number(value: Amount, default: Decimal | None) -> Decimal | None:
    return Decimal(str(value)) if value is not None else default


def _line(unit: str, old: Decimal | None, new: Decimal | None) -> Line | None:
    if old == new:
        return None
    if old is None or new is None:
        return Line(unit, _word(unit, old), _word(unit, new), "no limit any more" if new is None else "limited now", new is None)
    more = "more" if new > old else "less"
    return Line(unit, _word(unit, old), _word(unit, new), f"{_word(unit, abs(new - old))} {more}", new > old)


def _word(unit: str, value: Decimal | None) -> str:
    if value is None:
        return f"{NO_LIMIT} in {'US dollars' if unit == 'usd' else 'tokens'}"
    return usd(value) if unit == "usd" else f"{int(value):,} tokens"
