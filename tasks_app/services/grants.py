"""Grants: what a run's process may cost before it stops by itself. Sole writer of `Run.usd_ceiling`.

Claude Code says what was spent only at the end of a turn, and a turn may last for hours. So each process is given, as its own
limit (`max_budget_usd`), a share of what is left that no other process holds, and no more than takes a budget to its next level:
then it stops, says what it has cost, and the run goes on with the next grant or is asked about. Several agents at once can
overshoot a budget by one response each, and by `LEAST_USD` each where nearly all of it is held by others.
"""

from decimal import Decimal

from django.db import transaction
from django.db.models import F, Sum
from django.db.models.functions import Coalesce

from tasks_app.decision_kinds.budget import SHARED
from tasks_app.domain import budget
from tasks_app.domain.statuses import UNFINISHED, AgentStatus, RunStatus
from tasks_app.models import Agent, Run, Task
from tasks_app.models.teams import LARGE_OF_TEAM
from tasks_app.services import budgets, events, runs

LEAST_USD, LEAST_SHARE = 0.25, 0.05
"""No grant is smaller than this, or than this share of the limit, unless the limit itself has less left: a process that begins
again reads its whole context, and that has its price."""
CENT_USD = 0.01
"""What is left below this is nothing: Claude Code takes no limit of 0."""
WAIT_S = 30.0
"""After so long a run that found too little free is tried again: others have ended turns by then."""


@transaction.atomic
def give(run_id: str, fence: int) -> float | None:
    """Return what the process of this life may cost, in USD, and hold it for it; None: it is not limited. Raises `LeaseLost`."""
    team_id, rehearsal = Run.objects.values_list("team_id", "team__rehearsal").get(pk=run_id)
    if rehearsal:
        runs.guard(run_id, fence)
        return None
    events.lock(team_id)
    run = Run.objects.select_related("team", "task").defer(*LARGE_OF_TEAM).get(pk=run_id)  # what others spend meanwhile is in it
    granted = None if run.budget_waived else _granted(run)
    ceiling = None if granted is None else (run.cost_usd or Decimal()) + Decimal(str(round(granted, 6)))
    runs.guard(run_id, fence, usd_ceiling=ceiling)
    return granted


def _granted(run: Run) -> float:
    sharing = _sharing(run)
    return max(CENT_USD, min(_of_limit(run, row, sharing) for row in budgets.limits(run) if row[1] == "usd"))


def _of_limit(run: Run, row: budgets.Row, sharing: int) -> float:
    scope, _, used, limit = row
    left = max(0.0, limit - used)
    share = (left - held(run, scope)) / (sharing if scope in SHARED else 1)
    return min(left, max(min(share, _to_next_level(used, limit)), least(limit)))


def least(limit: float) -> float:
    """Return the smallest grant from a limit that has more left, in USD."""
    return min(LEAST_USD, LEAST_SHARE * limit)


def _to_next_level(used: float, limit: float) -> float:
    """What is left until the agent is to be told, or the work to be saved."""
    return next((part * limit - used for part in (budget.WRAP_UP_AT, budget.CHECKPOINT_AT) if used < part * limit), limit - used)


def _sharing(run: Run) -> int:
    """How many runs of the team may be at work at once and spend what it shares."""
    agents = Agent.objects.filter(team_id=run.team_id, status=AgentStatus.ACTIVE.value).count()
    tasks = Task.objects.filter(team_id=run.team_id, status__in=UNFINISHED).count()
    return max(1, min(agents, tasks, int(run.team.limits.get("parallel") or agents)))


def held(run: Run, scope: str) -> float:
    """Return what the processes of other runs may still spend of a limit that they share with this one, in USD."""
    if scope not in SHARED:
        return 0.0
    unspent = F("usd_ceiling") - Coalesce(F("cost_usd"), Decimal())
    others = Run.objects.filter(status=RunStatus.RUNNING.value).exclude(pk=run.pk).annotate(unspent=unspent).filter(unspent__gt=0)
    if scope == "team":
        others = others.filter(team_id=run.team_id)
    return float(others.aggregate(usd=Sum("unspent"))["usd"] or 0)


def is_spent(run: Run) -> bool:
    """Whether a process that says that its limit is used up has reached what it was granted, and there may be more for it."""
    if run.usd_ceiling is None or float(run.cost_usd or 0) < float(run.usd_ceiling) - CENT_USD:
        return False
    return all(limit - used > CENT_USD for _, unit, used, limit in budgets.limits(run) if unit == "usd")


def pause_s(run: Run) -> float:
    """Return how long a run whose grant is spent waits: others who hold what is left are to end a turn first."""
    short = any(
        limit - used - taken < least(limit)
        for scope, unit, used, limit in budgets.limits(run)
        if unit == "usd" and (taken := held(run, scope))
    )
    return WAIT_S if short else 0.0


def told_again(run: Run) -> str:
    """Return what a life that begins is told of the level that an earlier one has passed; "" where none has, or it is waived.

    The earlier one may have ended before it could tell its agent: a process stops at each level.
    """
    if run.budget_waived or not run.budget_level:
        return ""
    reading = budgets.read(run.pk)
    return reading.words if reading.level in (budget.Level.WRAP_UP, budget.Level.CHECKPOINT) else ""
