"""`team how-it-goes`: how a team does, as plain facts and as text."""

from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tasks_app.domain.how_it_goes import Figures
from tasks_app.domain.spans import span
from tasks_app.management import words
from tasks_app.selectors.how_it_goes import Report

UNKNOWN = "not known yet"


def as_json(report: Report) -> dict[str, Any]:
    """Return a report as plain JSON values; what is not known is null."""
    return {
        **_figures(report.whole),
        "waiting": report.waiting,
        "waiting_since": report.waiting_since,
        "log_from": report.log_from,
        "days": [{"day": one.day.isoformat(), **_figures(one.figures)} for one in report.days],
    }


def as_text(report: Report, name: str) -> RenderableType:
    """Return a report for a terminal."""
    facts = Table(box=None, pad_edge=False, show_header=False)
    for measure, figure in lines(report.whole):
        facts.add_row(measure, figure)
    parts: list[RenderableType] = [Text(f"How it goes: {name}", style="bold"), facts]
    if report.waiting:
        parts.append(Text(f"{report.waiting} waiting for you now", style="yellow"))
    if report.log_from:
        parts.append(Text(f"The log before {report.log_from} has aged out: what was reopened before is not known.", style="dim"))
    if report.days:
        parts += [Text(), _days(report)]
    return Group(*parts)


def lines(one: Figures) -> list[tuple[str, str]]:
    """Return each measure with its figure, in words."""
    rework = f"{_count(one.reopened)} reopened, {_count(one.reassigned)} reassigned"
    known = one.reopened is not None or one.reassigned is not None
    said = f"{one.messages_typical:g} per task (median), {one.messages} sent" if one.messages_typical is not None else UNKNOWN
    waits = f"{_span(one.wait_typical_s)} (median), {_span(one.wait_longest_s)} at most; {one.answered} answered"
    return [
        ("Done by agents", str(one.done)),
        ("Within their window", _share(one.within_percent, f"{one.within} of {one.timed}; {one.short} short, {one.over} over")),
        ("Clarifications mid-task", _asked(one)),
        ("Rework", rework if known else UNKNOWN),
        ("Messages", said),
        ("Tokens on coordination", _share(one.coordination_percent, f"of {words.tokens(one.tokens)} new tokens")),
        ("Clean hand-offs", _share(one.clean_percent, f"{one.clean} of {one.handed_over}")),
        ("Human wait", waits if one.answered else UNKNOWN),
    ]


def _days(report: Report) -> Table:
    table = Table(
        *("Day", "Done", "Within", "Asked", "Reopened", "Reassigned", "Messages", "Coordination", "Clean", "Wait"),
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for day in report.days:
        one = day.figures
        shares = [_percent(share) for share in (one.coordination_percent, one.clean_percent)]
        counts = [_dash(number) for number in (one.asked, one.reopened, one.reassigned, one.messages)]
        table.add_row(str(day.day), str(one.done), _percent(one.within_percent), *counts, *shares, _span(one.wait_typical_s))
    return table


def _figures(one: Figures) -> dict[str, Any]:
    shares = ("within_percent", "coordination_percent", "clean_percent")
    return asdict(one) | {name: getattr(one, name) for name in shares}


def _share(percent: int | None, of: str) -> str:
    return UNKNOWN if percent is None else f"{percent} % ({of})"


def _percent(value: int | None) -> str:
    return "–" if value is None else f"{value} %"


def _dash(value: int | None) -> str:
    return "–" if value is None else str(value)


def _asked(one: Figures) -> str:
    if one.asked is None:
        return UNKNOWN
    return str(one.asked) if one.asked_tasks is None else f"{one.asked}, in {one.asked_tasks} done tasks"


def _count(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def _span(value: float | None) -> str:
    return "–" if value is None else span(value)
