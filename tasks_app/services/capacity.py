"""Capacity: how many runs of a team are at work."""

from tasks_app.models import Run
from tasks_app.selectors.places import DUE, RUNNING, TAKES_NONE


def at_work(team_id: int, *, due: bool = False) -> int:
    """How many runs take a place under the team's cap; `due`: and how many more may at once."""
    return Run.objects.filter(RUNNING | DUE if due else RUNNING, team_id=team_id).exclude(TAKES_NONE).count()
