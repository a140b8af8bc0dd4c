"""How a team does: what is counted, and the figures that follow. Definitions for people: docs/how-it-goes.md.

A figure of which nothing is known yet is None and never 0. What is skewed (waits, messages) is told by its median.
"""

import datetime as dt
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from tasks_app.domain.elapsed import Standing

COORDINATION: Final = frozenset(
    f"mcp__crew__{name}"
    for name in (
        *("SendMessage", "ReadMessages", "MessageDone", "Escalate", "ShareContext", "ReadContext"),
        *("Waiting", "Answer", "HandOn", "Assign", "Split"),  # of the lead agent
    )
) | {"AskUserQuestion"}
"""Tools that are there to agree with others: colleagues or the lead."""


def coordinates(tool: str) -> bool:
    """Whether a tool, by its full name, is there to agree with others."""
    return tool in COORDINATION


@dataclass(frozen=True)
class Begun:
    """An attempt that was begun."""

    day: dt.date
    again_by_another: bool  # another agent had the task before: it was reassigned


@dataclass(frozen=True)
class Done:
    """A task that an agent's attempt completed."""

    day: dt.date
    standing: Standing | None  # of the working time of that attempt to the expected window; None: not measured
    asked: int  # clarifications asked in any attempt at it
    told: int  # messages that were handed over in any attempt at it


@dataclass(frozen=True)
class Happened:
    """One thing that is only counted: a clarification, a task reopened, a message."""

    day: dt.date


@dataclass(frozen=True)
class HandOff:
    """The first attempt at a task that builds on others; `clean`: it asked nothing."""

    day: dt.date
    clean: bool


@dataclass(frozen=True)
class Wait:
    """How long an answered decision had waited for its answer."""

    day: dt.date
    seconds: float


@dataclass(frozen=True)
class Tokens:
    """New tokens of one day (input, cache creation, output), and those of them in responses that coordinate."""

    day: dt.date
    all: int
    coordination: int


@dataclass(frozen=True)
class Facts:
    """All that is counted of one team or of one day of it."""

    begun: Sequence[Begun] = ()
    done: Sequence[Done] = ()
    asked: Sequence[Happened] = ()
    reopened: Sequence[Happened] = ()
    messages: Sequence[Happened] = ()
    tokens: Sequence[Tokens] = ()
    hand_offs: Sequence[HandOff] = ()
    waits: Sequence[Wait] = ()
    log_from: dt.date | None = field(default=None, kw_only=True)
    """The first whole day of a log whose beginning has aged out: what was reopened before is not known. None: it is whole."""

    def by_day(self) -> dict[dt.date, "Facts"]:
        """Return what counts for each day on which something does, newest first."""
        found: dict[dt.date, dict[str, list[Any]]] = {}
        for name in DATED:
            for one in getattr(self, name):
                found.setdefault(one.day, {}).setdefault(name, []).append(one)
        return {day: Facts(**found[day], log_from=self.log_from) for day in sorted(found, reverse=True)}


DATED: Final = tuple(one.name for one in fields(Facts) if one.name != "log_from")


@dataclass(frozen=True)
class Figures:
    """How it goes, in numbers; None where nothing is known yet."""

    done: int
    timed: int  # done tasks whose working time is known
    short: int
    within: int
    over: int
    asked: int | None
    asked_tasks: int | None  # done tasks that needed a clarification
    reopened: int | None
    reassigned: int | None
    messages: int | None
    messages_typical: float | None  # median of messages per done task
    tokens: int | None
    coordination_tokens: int | None
    handed_over: int
    clean: int
    answered: int
    wait_typical_s: float | None
    wait_longest_s: float | None

    @property
    def within_percent(self) -> int | None:
        """Share of the timed tasks that ended within their window."""
        return percent(self.within, self.timed)

    @property
    def coordination_percent(self) -> int | None:
        """Share of the new tokens that went into coordination."""
        return percent(self.coordination_tokens or 0, self.tokens or 0)

    @property
    def clean_percent(self) -> int | None:
        """Share of the hand-offs after which nothing was asked."""
        return percent(self.clean, self.handed_over)


def percent(part: int, whole: int) -> int | None:
    """Return whole percent, rounded half up; None of nothing."""
    return (part * 200 + whole) // (whole * 2) if whole > 0 else None


def figures(facts: Facts, *, day: dt.date | None = None) -> Figures:
    """Return the figures of `facts`; `day` says that they are those of one day."""
    done, waits = facts.done, [wait.seconds for wait in facts.waits]
    standings = [one.standing for one in done if one.standing is not None]
    at_work = bool(facts.begun) or day is not None  # before the first attempt nothing could have been asked or said
    cut = facts.log_from is not None and (day is None or day < facts.log_from)
    spent = sum(row.all for row in facts.tokens)
    return Figures(
        done=len(done),
        timed=len(standings),
        short=standings.count(Standing.UNDER),
        within=standings.count(Standing.ON_TRACK),
        over=standings.count(Standing.OVER),
        asked=len(facts.asked) if at_work else None,
        asked_tasks=sum(1 for one in done if one.asked) if done else None,
        reopened=len(facts.reopened) if at_work and not cut else None,
        reassigned=sum(1 for one in facts.begun if one.again_by_another) if at_work else None,
        messages=len(facts.messages) if at_work or facts.messages else None,
        messages_typical=statistics.median(one.told for one in done) if done else None,
        tokens=spent or None,
        coordination_tokens=sum(row.coordination for row in facts.tokens) if spent else None,
        handed_over=len(facts.hand_offs),
        clean=sum(1 for one in facts.hand_offs if one.clean),
        answered=len(waits),
        wait_typical_s=statistics.median(waits) if waits else None,
        wait_longest_s=max(waits, default=None),
    )
