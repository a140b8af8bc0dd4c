"""`team list` for people: one line for each team, under what its columns are."""

from collections.abc import Sequence

from tasks_app.management import words
from tasks_app.selectors.stored_teams import Archived
from tasks_app.selectors.teams import TeamSummary

Row = Sequence[str]


def of_teams(found: Sequence[TeamSummary]) -> list[str]:
    """Return the lines of teams as they stand, with what waits for you."""
    rows = [(team.slug, words.team(team), f"{team.counts.done} of {team.counts.total} done", _more(team)) for team in found]
    return _lines(("TEAM", "STATE", "TASKS", ""), rows)


def of_archived(found: Sequence[Archived]) -> list[str]:
    """Return the lines of teams that were put aside."""
    return _lines(("TEAM", "ARCHIVED"), [(team.slug, f"{team.archived_at:%Y-%m-%d %H:%M} UTC") for team in found])


def _more(team: TeamSummary) -> str:
    waits = [f"{team.waiting} waiting for you"] if team.waiting else []
    return ", ".join([*waits, *(["rehearsal"] if team.rehearsal else [])])


def _lines(head: Row, rows: Sequence[Row]) -> list[str]:
    """Nothing where there is no row; each column is as wide as what stands in it."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)]
