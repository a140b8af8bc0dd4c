"""What a benchmark says: figures with median and spread against their goals, on which machine, as a table or as JSON."""

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.machine import Machine

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0, "min": 0.0}


@dataclass(frozen=True)
class Goal:
    """What a figure is to be: `stat` (p50, p95, p99, max, min) at most `limit`; `least`: at least `limit`."""

    stat: str
    limit: float
    least: bool = False

    def in_words(self) -> str:
        """Return it as it is printed."""
        return f"{self.stat} {'≥' if self.least else '≤'} {short(self.limit)}"

    def met(self, figure: "Figure") -> bool:
        """Whether the figure is as it is to be; one without samples is not."""
        found = figure.stat(self.stat)
        return found >= self.limit if self.least else found <= self.limit


@dataclass(frozen=True)
class Figure:
    """Samples of one quantity."""

    name: str
    unit: str
    samples: Sequence[float]
    goals: tuple[Goal, ...] = ()
    peer: str = ""
    """Set where the figure is somebody else's: what was measured instead of Crewdesk."""

    def stat(self, name: str) -> float:
        """Return a quantile by name (nearest rank); not a number without samples."""
        if not self.samples:
            return math.nan
        ranked = sorted(self.samples)
        return ranked[max(0, math.ceil(QUANTILES[name] * len(ranked)) - 1)]

    @property
    def missed(self) -> list[Goal]:
        """The goals that are not met."""
        return [goal for goal in self.goals if not goal.met(self)]

    def as_json(self) -> dict[str, Any]:
        """Return the figure as plain JSON values."""
        found = {stat: _number(self.stat(stat)) for stat in QUANTILES} if self.samples else {}
        goals = [{"stat": g.stat, "limit": g.limit, "least": g.least, "met": g.met(self)} for g in self.goals]
        spread = statistics.pstdev(self.samples) if len(self.samples) > 1 else 0.0
        return {
            "name": self.name,
            "unit": self.unit,
            "peer": self.peer,
            "n": len(self.samples),
            **found,
            "stdev": _number(spread),
            "goals": goals,
        }


@dataclass
class Report:
    """The outcome of one benchmark. `failures` are things that must not be: they make the exit code 1; a missed goal does not."""

    name: str
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def missed(self) -> list[str]:
        """Each goal that is not met, in words: whose, what was to be, and what was found."""
        head, found = "", list[str]()
        for figure in self.figures:
            detail = figure.name.startswith(" ")
            head = head if detail else figure.name
            name = f"{head}, {figure.name.strip()}" if detail else figure.name
            unit = f" {figure.unit}" if figure.unit else ""
            found += [f"{name}: {goal.in_words()}{unit}, found {short(figure.stat(goal.stat))}" for goal in figure.missed]
        return found

    def add(self, name: str, unit: str, samples: Sequence[float], *goals: Goal, peer: str = "") -> None:
        """Add a figure."""
        self.figures.append(Figure(name, unit, list(samples), goals, peer))


def as_json(report: Report, machine: Machine, options: dict[str, Any]) -> str:
    """Return the report as one JSON document."""
    whole = {
        "bench": report.name,
        "seconds": round(report.seconds, 1),
        "options": options,
        "machine": machine.as_json(),
        "figures": [figure.as_json() for figure in report.figures],
        "notes": report.notes,
        "missed": report.missed,
        "failures": report.failures,
    }
    return json.dumps(whole, indent=1)


def show(report: Report, machine: Machine, console: Console) -> None:
    """Print the report as a table."""
    table = Table(title=f"bench {report.name}", box=box.SIMPLE_HEAD, title_justify="left")
    for head in ("figure", "n", "median", "spread (min – max)", "p99", "goal"):
        table.add_column(head, justify="left" if head in ("figure", "goal") else "right")
    for figure in report.figures:
        name = f"{figure.name} ({figure.unit})" + (f"  [{figure.peer}]" if figure.peer else "")
        table.add_row(escape(name), str(len(figure.samples)), *_columns(figure), _goal_words(figure))
    console.print(table)
    for note in report.notes:
        console.print(f"· {escape(note)}")
    for words in report.missed:
        console.print(f"[yellow]missed: {escape(words)}[/yellow]")
    for failure in report.failures:
        console.print(f"[red]✗ {escape(failure)}[/red]")
    console.print(f"[dim]{escape(machine.in_words())} · {report.seconds:.0f} s[/dim]")


def _columns(figure: Figure) -> tuple[str, str, str]:
    if not figure.samples:
        return "–", "–", "–"
    spread = f"{short(figure.stat('min'))} – {short(figure.stat('max'))}" if len(figure.samples) > 1 else ""
    return short(figure.stat("p50")), spread, short(figure.stat("p99")) if len(figure.samples) > 1 else ""


def _goal_words(figure: Figure) -> str:
    words = []
    for goal in figure.goals:
        met = goal.met(figure)
        words.append(f"[{'green' if met else 'red'}]{goal.in_words()} {'met' if met else 'missed'}[/]")
    return ", ".join(words)


def short(value: float) -> str:
    """Return a number with about three digits that matter."""
    if not math.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f}"


def _number(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None
