"""Attempts at one task side by side: what differs between them, and what does not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tasks_app.selectors.attempts import MOST, Attempt


@dataclass(frozen=True)
class Line:
    """One fact of each attempt. `kind` says how a page writes the values: text, word, met, seconds, tokens or usd."""

    name: str
    kind: str
    values: tuple[Any, ...]
    columns: tuple[str, ...] = ()  # what each value is of: `Attempt 2`

    @property
    def cells(self) -> list[tuple[str, Any]]:
        """Each value with the name of its column."""
        return list(zip(self.columns, self.values, strict=True))

    @property
    def differs(self) -> bool:
        """Whether the attempts are not all the same in it."""
        return len(set(self.values)) > 1


@dataclass(frozen=True)
class Comparison:
    """The attempts that are compared, the facts in which they differ, and those in which they do not."""

    attempts: tuple[Attempt, ...]
    different: tuple[Line, ...]
    same: tuple[Line, ...]


def compare(attempts: Sequence[Attempt]) -> Comparison | None:
    """Return the newest attempts compared, oldest first; None where there are not two."""
    shown = tuple(attempts[-MOST:])
    if len(shown) < 2:
        return None
    facts: tuple[Line, ...] = (
        Line("Agent", "text", tuple(one.agent for one in shown)),
        Line("How it ended", "word", tuple((one.status.value, one.reason) for one in shown)),
        Line("Criteria met", "met", tuple((one.met, one.wanted) for one in shown)),
        Line("Changed", "text", tuple(one.changed for one in shown)),
        Line("Working time", "seconds", tuple(one.worked_s for one in shown)),
        Line("Waited for you", "seconds", tuple(one.waited_s for one in shown)),
        Line("Tokens", "tokens", tuple(one.tokens for one in shown)),
        Line("Cost", "usd", tuple((one.cost_usd, one.cost_partial) for one in shown)),
        Line("Context peak", "percent", tuple(one.peak.percent for one in shown)),
        Line("Started from", "text", tuple(_start(one) for one in shown)),
        Line("Guidance", "text", tuple(one.guidance for one in shown)),
    )
    facts = tuple(replace(one, columns=tuple(f"Attempt {run.number}" for run in shown)) for one in facts)
    return Comparison(shown, tuple(one for one in facts if one.differs), tuple(one for one in facts if not one.differs))


def _start(one: Attempt) -> str:
    if one.fork:
        return f"a fork of attempt {one.fork.get('attempt')}, step {one.fork.get('step')}"
    return "the last attempt" if one.start_from == "last" else "clean"
