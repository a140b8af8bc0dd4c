"""A task in full: what it asks for, what came of it, and every attempt with its dossier."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypedDict

from django.db.models import QuerySet

from tasks_app.domain.criteria import Proof, Result, read, unmet
from tasks_app.domain.statuses import OPEN_RUN, REASON_HELP, AgentStatus, Reason, RunStatus, TaskStatus
from tasks_app.models import Agent, Dependency, Run, Task, TaskRule
from tasks_app.models.teams import LARGE_OF_TEAM
from tasks_app.selectors import shown, tasks, worktime
from tasks_app.selectors.clock import DatabaseNow
from tasks_app.selectors.look import once_of
from tasks_app.selectors.states import ContextUse
from tasks_app.selectors.tasks import Link, TaskCard
from tasks_app.selectors.worktime import Worktime

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class Timed(TypedDict):
        """What is added to a run for its working time."""

        database_s: float

    TimedRun = WithAnnotations[Run, Timed]

MOST = 6
"""So many attempts, the newest, stand side by side on a page that is not asked for all."""


@dataclass(frozen=True)
class Attempt:
    """One run of a task."""

    id: str
    number: int
    status: RunStatus
    reason: str  # a word of `Reason`, or nothing while it is open
    help: str  # what a person can do about the reason
    detail: str
    raw: str
    agent_pk: int
    agent: str
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    time: Worktime
    tokens: int
    cached_tokens: int
    cost_usd: Decimal | None  # None: not reported
    cost_partial: bool  # it has cost at least this
    budget_usd: Decimal | None  # its own, beside those of task and team
    budget_tokens: int | None
    peak: ContextUse
    guidance: str
    start_from: str
    fork: Mapping[str, Any]  # what it began as a fork of (services/forks.py); empty: of nothing
    result: str
    dossier: Mapping[str, Any]
    handoffs: int
    stopping: bool
    met: int  # criteria that it has shown to be met: by evidence in its report, or proved
    wanted: int

    @property
    def worked_s(self) -> float | None:
        """Whole seconds of work from its start to its end; None while it is open."""
        return float(int(self.time.worked_s)) if self.started_at and self.ended_at else None

    @property
    def waited_s(self) -> float:
        """Whole seconds that it waited for the lead."""
        return float(int(self.time.waited_s))

    @property
    def patch(self) -> str:
        """What it changed in the workspace, as a unified diff; empty where nothing is kept."""
        diff = self.dossier.get("diff")
        return str(diff.get("patch") or "") if isinstance(diff, dict) else str(diff or "")

    @property
    def changed(self) -> str:
        """How much it changed, as git says it: `3 files changed, 12 insertions(+)`; empty where nothing is kept."""
        diff = self.dossier.get("diff")
        return str(diff.get("summary") or "") if isinstance(diff, dict) else ""


@dataclass(frozen=True)
class Criterion:
    """An acceptance criterion and the evidence for it, which may be empty. `how`: who proves it, in words; empty: the agent.

    `result`: what came of proving it last, by the latest attempt; None: nobody has asked for it.
    """

    text: str
    evidence: str
    how: str = ""
    result: Result | None = None


@dataclass(frozen=True)
class Rule:
    """A permission rule that the lead allowed for one task."""

    pk: int
    rule: str
    by: str
    at: dt.datetime


@dataclass(frozen=True)
class Member:
    """An agent that a task can be given to."""

    pk: int
    name: str
    role: str
    active: bool


@dataclass(frozen=True)
class TaskPage:
    """All that a task's page says besides its card."""

    card: TaskCard
    team_slug: str
    team_name: str
    rehearsal: bool
    description: str
    criteria: tuple[Criterion, ...]
    evidence: tuple[tuple[str, str], ...]  # evidence that belongs to no criterion, e.g. completed by hand
    unmet: tuple[str, ...]  # criteria that the latest attempt has not shown to be met, with why
    guidance: str
    output: str
    completed_while_blocked_by: str
    budget_usd: Decimal | None
    budget_tokens: int | None
    run_budget_usd: Decimal | None  # of each of its runs; None: as the team says
    run_budget_tokens: int | None
    needs: tuple[Link, ...]
    dependants: tuple[Link, ...]
    rules: tuple[Rule, ...]


def team_of(task_id: int) -> int | None:
    """Return the team of a task, or None."""
    return Task.objects.filter(pk=task_id).values_list("team_id", flat=True).first()


@once_of
def page(task_id: int) -> TaskPage | None:
    """Return a task with its surroundings, or None; a constant number of queries."""
    card = tasks.one(task_id)
    if card is None:
        return None
    task = Task.objects.select_related("team").defer(*LARGE_OF_TEAM).filter(pk=task_id).first()
    if task is None:  # it was deleted meanwhile
        return None
    criteria, rest, left = _criteria(task)
    return TaskPage(
        card=card,
        team_slug=task.team.slug,
        team_name=task.team.name,
        rehearsal=task.team.rehearsal,
        description=task.description,
        criteria=criteria,
        evidence=rest,
        unmet=left,
        guidance=task.guidance,
        output=task.output,
        completed_while_blocked_by=task.completed_while_blocked_by,
        budget_usd=task.budget_usd,
        budget_tokens=task.budget_tokens,
        run_budget_usd=task.run_budget_usd,
        run_budget_tokens=task.run_budget_tokens,
        needs=_links("needs", task_id=task_id),
        dependants=_links("task", needs_id=task_id),
        rules=tuple(
            Rule(row.pk, row.rule, row.by, row.at) for row in TaskRule.objects.filter(task_id=task_id).order_by("at", "pk")
        ),
    )


def open_run(task_id: int) -> str | None:
    """Return the id of the task's attempt that has not ended; one query."""
    open_ = [status.value for status in OPEN_RUN]
    return Run.objects.filter(task_id=task_id, status__in=open_).values_list("pk", flat=True).first()


@once_of
def of_task(task_id: int) -> list[Attempt]:
    """Return the attempts of a task, oldest first; one query."""
    return [_attempt(run) for run in _timed(task_id).order_by("attempt")]


@once_of
def newest(task_id: int) -> list[Attempt]:
    """Return the last `MOST` attempts of a task, oldest first; one query."""
    return [_attempt(run) for run in reversed(_timed(task_id).order_by("-attempt")[:MOST])]


def count(task_id: int) -> int:
    """Return how many attempts a task has had; one query."""
    return Run.objects.filter(task_id=task_id).count()


def _timed(task_id: int) -> "QuerySet[TimedRun]":
    found = Run.objects.filter(task_id=task_id).annotate(database_s=DatabaseNow(), **worktime.ADDED)
    return found.select_related("agent", "task")


def neighbours(card: TaskCard) -> tuple[bool, bool]:
    """Return whether a pending task stands before it in the queue, and whether one stands after it; at most two queries."""
    same = Task.objects.filter(team_id=card.team_id, priority=card.priority, status=TaskStatus.PENDING)
    return same.filter(position__lt=card.position).exists(), same.filter(position__gt=card.position).exists()


def rule_ids(task_id: int) -> frozenset[int]:
    """Return the rules that belong to a task; one query."""
    return frozenset(TaskRule.objects.filter(task_id=task_id).values_list("pk", flat=True))


def members(team_id: int) -> list[Member]:
    """Return the agents of a team in their order; one query."""
    rows = Agent.objects.filter(team_id=team_id).values_list("pk", "name", "role", "status")
    return [Member(pk, name, role, status == AgentStatus.ACTIVE) for pk, name, role, status in rows]


def _attempt(run: "TimedRun") -> Attempt:
    cached, evidence = run.cache_read_tokens, (run.report or {}).get("evidence") or {}
    time = worktime.read(worktime.Facts(*(getattr(run, name) for name in worktime.Facts._fields)))
    left = unmet(run.task.criteria, evidence, {one.number: one for one in map(Result.load, run.proofs)})
    return Attempt(
        id=run.pk,
        number=run.attempt,
        status=RunStatus(run.status),
        reason=run.reason,
        help=REASON_HELP.get(Reason(run.reason), "") if run.reason in set(Reason) else "",
        detail=run.detail,
        raw=run.raw,
        agent_pk=run.agent_id,
        agent=run.agent.name,
        started_at=run.started_at,
        ended_at=run.ended_at,
        time=time,
        tokens=run.input_tokens + run.cache_creation_tokens + cached + run.output_tokens,
        cached_tokens=cached,
        cost_usd=run.cost_usd,
        cost_partial=run.cost_partial,
        budget_usd=run.budget_usd,
        budget_tokens=run.budget_tokens,
        peak=ContextUse(run.context_peak, run.context_window),
        guidance=run.guidance,
        start_from=run.start_from,
        fork=run.fork,
        result=run.result,
        dossier=run.dossier,
        handoffs=run.handoffs,
        stopping=run.stop_asked_at is not None and run.ended_at is None,
        met=len(run.task.criteria) - len(left),
        wanted=len(run.task.criteria),
    )


def _criteria(task: Task) -> tuple[tuple[Criterion, ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
    """The criteria, evidence that belongs to none, and what is not met; kept by the text of its criterion or by its number."""
    given = {str(key): str(value) for key, value in task.evidence.items()} if isinstance(task.evidence, dict) else {}
    found, used = [], set()
    proofs, report = shown.last(task)
    results = {one.number: one for one in map(Result.load, proofs)}
    for one in read(task.criteria):
        key = next((key for key in (one.text, str(one.number)) if key in given), None)
        used.add(key)
        found.append(
            Criterion(one.text, given.get(key, "") if key else "", HOW[one.proof].format(one.value), results.get(one.number))
        )
    left = [str(one) for one in unmet(task.criteria, report.get("evidence") or {}, results)]
    return tuple(found), tuple((key, value) for key, value in given.items() if key not in used), tuple(left)


HOW: Mapping[Proof, str] = {
    Proof.SAID: "",
    Proof.CHECK: "checked by the server: {}",
    Proof.ARTIFACT: "must be there: {}",
    Proof.JUDGE: "judged by {}",
}


def _links(side: str, **where: int) -> tuple[Link, ...]:
    names = (f"{side}_id", f"{side}__number", f"{side}__title", f"{side}__status")
    rows = Dependency.objects.filter(**where).order_by(f"{side}__number").values_list(*names)
    return tuple(Link(pk, number, title, TaskStatus(status)) for pk, number, title, status in rows)
