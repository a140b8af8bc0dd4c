"""Budgets: what a run may still use, the levels it passes, and the lead's changes to the limits."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from tasks_app.domain import budget
from tasks_app.domain.errors import Invalid, NotFound
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import OPEN_RUN
from tasks_app.models import Run, ServerDay, Task, Team
from tasks_app.models.teams import LARGE_OF_TEAM
from tasks_app.services import events, keys, locks, rows
from tasks_app.services.usage import Spent

SMALLER_MODEL = "haiku"
"""What "finish with a smaller model" means to Claude Code: its alias for the smallest current model."""
ORDER = (budget.Level.OK, budget.Level.WRAP_UP, budget.Level.CHECKPOINT, budget.Level.USED_UP)


@dataclass(frozen=True)
class Reading:
    """The tightest limit that applies to a run: `used` of `limit` in `unit` (usd, tokens) at `scope` (server … run)."""

    level: budget.Level
    scope: str
    unit: str
    used: float
    limit: float

    @property
    def words(self) -> str:
        """What an agent is told when it nears the limit."""
        share = f"{self.used:,.2f} of {self.limit:,.2f} {self.unit} of the {self.scope}"
        return f"[crewdesk] The budget is nearly used: {share}. Wrap up: finish the smallest useful part, then report."

    @property
    def over(self) -> float:
        """How far the limit was overshot when the brake took hold: at most by one response of each who spends it."""
        return budget.over(self.used, self.limit)


Row = tuple[str, str, float, float]
"""Scope, unit, used, limit."""


def _shared_limits(team: Team) -> list[Row]:
    own = budget.of_team(float(team.used_usd), team.used_tokens, team.budget_usd, team.budget_tokens)
    found = [
        ("team", "usd", float(team.used_usd), own.limit_usd),
        ("team", "tokens", float(team.used_tokens), float(own.limit_tokens)),
    ]
    if not team.rehearsal:
        today = ServerDay.objects.filter(day=_today()).first() or ServerDay(day=_today())
        found.append(("server", "usd", float(today.used_usd), settings.DAY_USD + float(today.raised_usd)))
    return found


def limits(run: Run) -> list[Row]:
    """Return every limit that applies to a run, the outermost first."""
    task, found = run.task, _shared_limits(run.team)
    if task.budget_usd is not None:
        found.append(("task", "usd", float(task.used_usd), float(task.budget_usd)))
    if task.budget_tokens:
        found.append(("task", "tokens", float(task.used_tokens), float(task.budget_tokens)))
    if run.budget_usd is not None:
        found.append(("run", "usd", float(run.cost_usd or 0), float(run.budget_usd)))
    if run.budget_tokens:
        tokens = run.input_tokens + run.cache_creation_tokens + run.cache_read_tokens + run.output_tokens
        found.append(("run", "tokens", float(tokens), float(run.budget_tokens)))
    return found


def of_new_run(task: Task) -> dict[str, Any]:
    """Return what a run of the task may use itself, as columns: as its task says, else as the team's limits do."""
    team = task.team.limits.get("run_budget") or {}
    usd = task.run_budget_usd if task.run_budget_usd is not None else team.get("usd")
    return {
        "budget_usd": Decimal(str(usd)) if usd is not None else None,
        "budget_tokens": task.run_budget_tokens or team.get("tokens"),
    }


def _tightest(limits: list[Row]) -> Reading:
    scope, unit, used, limit = max(limits, key=lambda row: budget.Limit(row[0], row[2], row[3]).fraction)
    return Reading(budget.level(used, limit), scope, unit, used, limit)


def _today() -> date:
    return timezone.now().date()


def add_server_usage(usd: Decimal) -> None:
    """Add what a real run has cost to the server's day."""
    ServerDay.objects.get_or_create(day=_today())
    ServerDay.objects.filter(day=_today()).update(used_usd=F("used_usd") + usd)


def spend(run: Run, spent: Spent) -> rows.Changes:
    """Add what a run used to its task; returns what the team's row grows by. (`add_server_usage` is for what a real one cost.)

    `run` is `rows.recorded`: it, its task and its team then say what is used now.
    """
    tokens, usd = spent.tokens.total, spent.usd
    rows.change(Task, {"id": run.task_id}, rows.Changes(add={"used_tokens": tokens, "used_usd": usd}))
    for row in (run.task, run.team):
        row.used_tokens, row.used_usd = row.used_tokens + tokens, row.used_usd + usd
    known = {"cost_known": True} if spent.cost_known else {}
    return rows.Changes(known, {"used_tokens": tokens, "used_usd": usd})


def stand(run: Run) -> Reading:
    """Return the tightest limit of a run that is `rows.recorded`."""
    return _tightest(limits(run))


def read(run_id: str) -> Reading:
    """Return the tightest limit of the run, as of now (one query)."""
    return _tightest(limits(Run.objects.select_related("team", "task").defer(*LARGE_OF_TEAM).get(pk=run_id)))


def read_shared(team: Team) -> Reading:
    """Return the tightest of the limits that all runs of the team share: its own and the server's day."""
    return _tightest(_shared_limits(team))


def rearm(run_id: str) -> None:
    """A run that was stopped for its budget brakes again with its next response if the limit still holds, and only then."""
    Run.objects.filter(pk=run_id).update(budget_level=budget.Level.CHECKPOINT.value)


@transaction.atomic
def note_level(run_id: str, reading: Reading, mine: set[budget.Level] | None = None) -> bool:
    """Remember that the run has passed a level; whether that is to be acted on: once per level and run.

    What is used up is acted on each time, for who was to leave may have been killed before it did. Never where the lead waived
    the limit. `mine`: the levels that an earlier try of this call has noted, whose commit may be done.
    """
    mine = set() if mine is None else mine
    run = Run.objects.select_related("team").defer(*LARGE_OF_TEAM).get(pk=run_id)
    events.lock(run.team_id)
    run.refresh_from_db(fields=["budget_level", "budget_waived"])
    if run.budget_waived:
        return False
    known = budget.Level(run.budget_level) if run.budget_level else budget.Level.OK
    if ORDER.index(reading.level) <= ORDER.index(known):
        return reading.level is budget.Level.USED_UP or reading.level in mine
    mine.add(reading.level)
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
            "over": reading.over,
            "unit": reading.unit,
        },
    )
    return True


def payload(run_id: str, reading: Reading) -> dict[str, object]:
    """Return what a `budget` decision shows."""
    shown: dict[str, object] = {f"{name}_{unit}": None for unit in ("usd", "tokens") for name in ("used", "limit", "over")}
    for name in ("used", "limit", "over"):
        shown[f"{name}_{reading.unit}"] = getattr(reading, name)
    return {"scope": reading.scope, **shown, "run": run_id}


@transaction.atomic
def raise_by(
    scope: str,
    *,
    team_id: int,
    task_id: int | None,
    run_id: str | None,
    usd: str | None,
    tokens: int | None,
    actor: str,
) -> None:
    """Raise the limit that was hit (run, task, team or the server's day), in its unit; whom it held may pass its levels again."""
    events.lock(team_id)
    if scope == "server":
        if not usd:
            raise Invalid("The server's budget is in USD. Say by how many USD to raise it today.", field="usd")
        ServerDay.objects.get_or_create(day=_today())
        ServerDay.objects.filter(day=_today()).update(raised_usd=F("raised_usd") + Decimal(usd))
    elif scope == "run":
        _raise(Run.objects.filter(pk=run_id or ""), usd, tokens)
    elif scope == "task":
        _raise(Task.objects.filter(pk=task_id or 0), usd, tokens)
    else:
        _raise(Team.objects.filter(pk=team_id), usd, tokens)
    of_one = {"run": Q(pk=run_id or ""), "task": Q(task_id=task_id)}
    held = of_one.get(scope, Q(team_id=team_id))
    open_runs = Run.objects.filter(held, status__in=[status.value for status in OPEN_RUN])
    locks.in_order(open_runs)
    open_runs.update(budget_level="")
    _changed(team_id, scope=scope, actor=actor, new=f"+{_words(usd, tokens)}", task_id=task_id if scope in of_one else None)


def _raise(rows: QuerySet[Any], usd: str | None, tokens: int | None) -> None:
    defaults = (Decimal(str(budget.DEFAULT_TEAM_USD)), budget.DEFAULT_TEAM_TOKENS)
    if usd:
        rows.update(budget_usd=Coalesce(F("budget_usd"), defaults[0]) + Decimal(usd))
    if tokens:
        rows.update(budget_tokens=Coalesce(F("budget_tokens"), defaults[1]) + int(tokens))


def _changed(team_id: int, *, scope: str, actor: str, new: str, task_id: int | None = None) -> None:
    number = Task.objects.values_list("number", flat=True).get(pk=task_id) if task_id else None
    events.append(
        team_id,
        EventKind.BUDGET_CHANGED,
        actor=actor,
        keys=(keys.task(task_id),) if task_id else (),
        task_number=number,
        data={"scope": scope, "new": new},
    )


def _words(usd: object, tokens: object) -> str:
    """`5 USD and 100000 tokens`, for people."""
    return " and ".join(f"{amount} {unit}" for amount, unit in ((usd, "USD"), (tokens, "tokens")) if amount) or "the default"


@transaction.atomic
def use_smaller_model(run: Run, *, actor: str) -> None:
    """Let the run finish with a smaller model, beyond the limit by what that costs."""
    events.lock(run.team_id)
    Run.objects.filter(pk=run.pk).update(model_override=SMALLER_MODEL, budget_level="", budget_waived=True)
    _changed(run.team_id, scope="run", actor=actor, new=SMALLER_MODEL, task_id=run.task_id)


@transaction.atomic
def set_team(team_id: int, *, usd: object, tokens: object, actor: str) -> None:
    """Set the team's limits; None or empty: the safe default."""
    dollars, count = budget.amounts(usd, tokens)
    team = events.lock(team_id)
    Team.objects.filter(pk=team.pk).update(budget_usd=dollars, budget_tokens=count)
    _changed(team_id, scope="team", actor=actor, new=_words(dollars, count))


@transaction.atomic
def set_task(task_id: int, *, usd: object, tokens: object, actor: str) -> None:
    """Set a task's limits; None or empty: only the team's apply."""
    _set_on_task(task_id, "budget", scope="task", usd=usd, tokens=tokens, actor=actor)


@transaction.atomic
def set_team_runs(team_id: int, *, usd: object, tokens: object, actor: str) -> None:
    """Set what each run of the team may use, from the next one on; None or empty: the budgets of team and task alone."""
    dollars, count = budget.amounts(usd, tokens)
    team = events.lock(team_id)
    own = {"usd": float(dollars) if dollars is not None else None, "tokens": count}
    Team.objects.filter(pk=team.pk).update(limits={**team.limits, "run_budget": own})
    _changed(team_id, scope="runs", actor=actor, new=_words(dollars, count))


@transaction.atomic
def set_task_runs(task_id: int, *, usd: object, tokens: object, actor: str) -> None:
    """Set what each run of a task may use, from the next one on; None or empty: as the team says."""
    _set_on_task(task_id, "run_budget", scope="runs", usd=usd, tokens=tokens, actor=actor)


def _set_on_task(task_id: int, column: str, *, scope: str, usd: object, tokens: object, actor: str) -> None:
    dollars, count = budget.amounts(usd, tokens)
    task = Task.objects.filter(pk=task_id).first()
    if task is None:
        raise NotFound("This task does not exist any more.")
    events.lock(task.team_id)
    Task.objects.filter(pk=task_id).update(**{f"{column}_usd": dollars, f"{column}_tokens": count})
    _changed(task.team_id, scope=scope, actor=actor, new=_words(dollars, count), task_id=task_id)
