"""Capacity: how many runs of a team are at work."""

from django.db.models import Count, Q, QuerySet

from tasks_app.models import Run
from tasks_app.selectors.compiled import Compiled
from tasks_app.selectors.places import DUE, RUNNING, TAKES_NONE


def at_work(team_id: int, *, due: bool = False) -> int:
    """How many runs take a place under the team's cap; `due`: and how many more may at once."""
    counted = (_OR_DUE if due else _RUNNING).rows(team_id)
    return int(counted[0][0]) if counted else 0


def _taking(which: Q, team_id: int) -> QuerySet[Run, tuple[int]]:
    taking = Run.objects.filter(which, team_id=team_id).exclude(TAKES_NONE)
    return taking.order_by().values("team_id").annotate(n=Count("pk")).values_list("n")


_RUNNING = Compiled(lambda team_id: _taking(RUNNING, team_id))
_OR_DUE = Compiled(lambda team_id: _taking(RUNNING | DUE, team_id))
