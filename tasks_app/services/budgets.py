"""Budgets: what a run may still use, the levels it passes, and the lead's changes to the limits."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone

from tasks_app.domain import budget
from tasks_app.domain.errors import Invalid, NotFound
from tasks_app.domain.events import EventKind
from tasks_app.models import Run, ServerDay, Task, Team
from tasks_app.services import events, keys

SMALLER_MODEL = "haiku"
"""What "finish with a smaller model" means to Claude Code: its alias for the smallest current model."""
ORDER = (budget.Level.OK, budget.Level.WRAP_UP, budget.Level.CHECKPOINT, budget.Level.USED_UP)


@dataclass(frozen=True)
class Reading:
    """The tightest limit that applies to a run: `used` of `limit` in `unit` (usd or tokens) at `scope` (server, team or task)."""

    level: budget.Level
    scope: str
    unit: str
    used: float
    limit: float


def _limits(run: Run) -> list[tuple[str, str, float, float]]:
    team, task = run.team, run.task
    usd = float(team.budget_usd) if team.budget_usd is not None else budget.DEFAULT_TEAM_USD
    tokens = team.budget_tokens or budget.DEFAULT_TEAM_TOKENS
    found = [("team", "usd", float(team.used_usd), usd), ("team", "tokens", float(team.used_tokens), float(tokens))]
    if task.budget_usd is not None:
        found.append(("task", "usd", float(task.used_usd), float(task.budget_usd)))
    if task.budget_tokens:
        found.append(("task", "tokens", float(task.used_tokens), float(task.budget_tokens)))
    if not team.rehearsal:
        today = ServerDay.objects.filter(day=_today()).first() or ServerDay(day=_today())
        found.append(("server", "usd", float(today.used_usd), settings.DAY_USD + float(today.raised_usd)))
    return found


def _today() -> date:
    return timezone.now().date()


def add_server_usage(usd: Decimal) -> None:
    """Add what a real run has cost to the server's day."""
    ServerDay.objects.get_or_create(day=_today())
    ServerDay.objects.filter(day=_today()).update(used_usd=F("used_usd") + usd)


def read(run_id: str) -> Reading:
    """Return the tightest limit of the run, as of now (one query)."""
    run = Run.objects.select_related("team", "task").get(pk=run_id)
    scope, unit, used, limit = max(_limits(run), key=lambda row: budget.Limit(row[0], row[2], row[3]).fraction)
    return Reading(budget.level(used, limit), scope, unit, used, limit)


def usd_left(run: Run) -> float | None:
    """What the run's process may cost at most, in USD; passed on to Claude Code as a second brake."""
    left = [limit - used for _, unit, used, limit in _limits(run) if unit == "usd"]
    return max(0.01, min(left)) if left else None


@transaction.atomic
def note_level(run_id: str, reading: Reading) -> bool:
    """Remember that the run has passed a level; True exactly once per level and run, never where the lead waived the limit."""
    run = Run.objects.select_related("team").get(pk=run_id)
    events.lock(run.team_id)
    run.refresh_from_db(fields=["budget_level", "budget_waived"])
    if run.budget_waived:
        return False
    known = budget.Level(run.budget_level) if run.budget_level else budget.Level.OK
    if ORDER.index(reading.level) <= ORDER.index(known):
        return False
    Run.objects.filter(pk=run_id).update(budget_level=reading.level.value)
    events.append(
        run.team_id,
        EventKind.BUDGET_LEVEL,
        keys=(keys.run(run_id), keys.agent(run.agent_id)),
        run_id=run_id,
        agent_id=run.agent_id,
        data={
            "scope": reading.scope,
            "level": reading.level.value,
            "used": reading.used,
            "limit": reading.limit,
            "unit": reading.unit,
        },
    )
    return True


def payload(run_id: str, reading: Reading) -> dict[str, object]:
    """Return what a `budget` decision shows."""
    shown: dict[str, object] = {
        "scope": reading.scope,
        "used_usd": None,
        "limit_usd": None,
        "used_tokens": None,
        "limit_tokens": None,
    }
    shown[f"used_{reading.unit}"] = reading.used
    shown[f"limit_{reading.unit}"] = reading.limit
    return {**shown, "run": run_id}


@transaction.atomic
def raise_by(run: Run, *, scope: str, usd: str | None, tokens: int | None, actor: str) -> None:
    """Raise the limit that was hit (task, team or the server's day), in its unit; the run may pass its levels again."""
    events.lock(run.team_id)
    if scope == "server":
        if not usd:
            raise Invalid("The server's budget is in USD. Say by how many USD to raise it today.", field="usd")
        ServerDay.objects.get_or_create(day=_today())
        ServerDay.objects.filter(day=_today()).update(raised_usd=F("raised_usd") + Decimal(usd))
        Run.objects.filter(pk=run.pk).update(budget_level="")
        _changed(run.team_id, scope=scope, actor=actor, new=f"+{usd}")
        return
    model, pk = (Task, run.task_id) if scope == "task" else (Team, run.team_id)
    defaults = (Decimal(str(budget.DEFAULT_TEAM_USD)), budget.DEFAULT_TEAM_TOKENS)
    changes: dict[str, object] = {}
    if usd:
        changes["budget_usd"] = Coalesce(F("budget_usd"), defaults[0]) + Decimal(usd)
    if tokens:
        changes["budget_tokens"] = Coalesce(F("budget_tokens"), defaults[1]) + int(tokens)
    model.objects.filter(pk=pk).update(**changes)
    Run.objects.filter(pk=run.pk).update(budget_level="")
    _changed(run.team_id, scope=scope, actor=actor, new=f"+{usd or ''}{tokens or ''}", task_id=run.task_id)


def _changed(team_id: int, *, scope: str, actor: str, new: str, task_id: int | None = None) -> None:
    names = (keys.task(task_id),) if task_id else ()
    events.append(team_id, EventKind.BUDGET_CHANGED, actor=actor, keys=names, data={"scope": scope, "new": new})


@transaction.atomic
def use_smaller_model(run: Run, *, actor: str) -> None:
    """Let the run finish with a smaller model, beyond the limit by what that costs."""
    events.lock(run.team_id)
    Run.objects.filter(pk=run.pk).update(model_override=SMALLER_MODEL, budget_level="", budget_waived=True)
    _changed(run.team_id, scope="run", actor=actor, new=SMALLER_MODEL, task_id=run.task_id)


def _amounts(usd: object, tokens: object) -> tuple[Decimal | None, int | None]:
    try:
        dollars = Decimal(str(usd)) if usd not in (None, "") else None
        count = int(str(tokens)) if tokens not in (None, "") else None
    except (ArithmeticError, ValueError):
        raise Invalid("A budget is a number: USD such as 12.50, tokens such as 500000.", field="budget") from None
    if dollars is not None and not (dollars.is_finite() and Decimal("0.01") <= dollars <= 1_000_000):
        raise Invalid("The budget must be at least 0.01 and at most 1,000,000 USD.", field="usd")
    if count is not None and not 0 < count <= 10**12:
        raise Invalid("The budget must be above 0 tokens.", field="tokens")
    return dollars, count


@transaction.atomic
def set_team(team_id: int, *, usd: object, tokens: object, actor: str) -> None:
    """Set the team's limits; None or empty: the safe default."""
    dollars, count = _amounts(usd, tokens)
    team = events.lock(team_id)
    Team.objects.filter(pk=team.pk).update(budget_usd=dollars, budget_tokens=count)
    _changed(team_id, scope="team", actor=actor, new=f"{dollars} USD, {count} tokens")


@transaction.atomic
def set_task(task_id: int, *, usd: object, tokens: object, actor: str) -> None:
    """Set a task's limits; None or empty: only the team's apply."""
    dollars, count = _amounts(usd, tokens)
    task = Task.objects.filter(pk=task_id).first()
    if task is None:
        raise NotFound("This task does not exist any more.")
    events.lock(task.team_id)
    Task.objects.filter(pk=task_id).update(budget_usd=dollars, budget_tokens=count)
    _changed(task.team_id, scope="task", actor=actor, new=f"{dollars} USD, {count} tokens", task_id=task_id)
