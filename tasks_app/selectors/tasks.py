"""Tasks as boards and tables show them: each with its derived state, the reason for it and the way out."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from django.db.models import QuerySet
from django.utils import timezone

from tasks_app.domain.graph import Blocker, Why, blockers, dead_ends
from tasks_app.domain.ids import task_label
from tasks_app.domain.statuses import RunStatus, TaskStatus
from tasks_app.models import Dependency, Task
from tasks_app.selectors import open_work
from tasks_app.selectors.compiled import Compiled
from tasks_app.selectors.crews import Crew, crews
from tasks_app.selectors.look import once, once_of, through, under_way
from tasks_app.selectors.open_work import AskOf, OpenAsk, OpenRun, RunOf
from tasks_app.selectors.states import ContextUse, TaskState, over_time, with_state
from tasks_app.selectors.stored_teams import stored
from tasks_app.selectors.task_reasons import reason

if TYPE_CHECKING:
    from tasks_app.selectors.states import DerivedTask


REVIEW = "review"
"""The kind of a task that judges another one; that of any other is its type."""


@dataclass(frozen=True)
class Link:
    """Another task, as far as a link needs it."""

    pk: int
    number: int
    title: str
    status: TaskStatus

    @property
    def label(self) -> str:
        """`T-42`."""
        return task_label(self.number)


@dataclass(frozen=True)
class Obstacle:
    """A dependency that is not completed, why, and whether waiting alone will not help."""

    task: Link
    why: Why
    root: Link
    never: bool
    asks: bool = False  # a person is asked what to do about the root: its column is that of what waits, not of what failed


@dataclass(frozen=True)
class TaskCard:
    """All that a card or row says about a task."""

    pk: int
    team_id: int
    number: int
    title: str
    status: TaskStatus
    state: TaskState
    reason: str  # why it is in this state; may be empty
    priority: int
    position: int
    role: str
    assignee: str
    agent_pk: int | None  # the agent of the open run
    agent: str
    run: OpenRun | None
    ask: OpenAsk | None
    context: ContextUse | None
    obstacles: tuple[Obstacle, ...]
    failures: int  # attempts that failed and count
    attempts_allowed: int
    expected_min: float
    expected_max: float
    used_tokens: int
    used_usd: Decimal
    cost_partial: bool  # it has cost at least this
    started_at: dt.datetime | None
    took_s: float | None  # working time of the attempt that completed it; None: none did
    completed_at: dt.datetime | None
    completed_by: str
    not_before: dt.datetime | None
    over: bool
    attention: bool  # in progress, but nobody works on it
    reviewed_in: str  # label of the task in which another agent judges it; empty: none
    kind: str  # its type, or `review` where it judges another one

    @property
    def with_lead_agent(self) -> bool:
        """Whether the lead agent decides about it; a person may all the same."""
        return self.state is TaskState.IN_FLIGHT and self.ask is not None and self.ask.with_lead_agent

    @property
    def in_review(self) -> bool:
        """Whether it is reported as completed, and somebody is to look at it."""
        return bool(self.reviewed_in) or (self.ask is not None and self.ask.is_review)

    @property
    def label(self) -> str:
        """`T-42`."""
        return task_label(self.number)

    @property
    def attempts(self) -> int:
        """The attempts that count: those that failed, and the one that is under way or has completed it."""
        return self.failures + (self.status is TaskStatus.IN_PROGRESS or self.took_s is not None)

    @property
    def short(self) -> bool:
        """Whether it was done sooner than expected: worth a look at the result."""
        return self.took_s is not None and self.took_s < self.expected_min * 60

    @property
    def never(self) -> bool:
        """Whether it can never start by waiting alone."""
        return any(obstacle.never for obstacle in self.obstacles)


@dataclass
class _Facts:
    """Everything read at once about the tasks of some teams."""

    now: dt.datetime
    links: dict[int, Link] = field(default_factory=dict)
    deps: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    failed: set[int] = field(default_factory=set)
    runs: dict[int, tuple[int, OpenRun]] = field(default_factory=dict)  # task -> (agent, run)
    asks: dict[int, OpenAsk] = field(default_factory=dict)
    crews: dict[int, Crew] = field(default_factory=dict)


def of_teams(team_ids: Collection[int], *, states: Collection[TaskState] = tuple(TaskState)) -> dict[int, list[TaskCard]]:
    """Return the tasks of each team that are in one of `states`, in order of their numbers.

    Six queries, whatever the number of teams, and up to two for whether a worker answers, where that matters; one more where
    blocked tasks but not all others are asked for. All of them are read once per look.
    """
    if set(states) == set(TaskState):
        return _all_of_teams(team_ids)
    wanted = [state.value for state in states]
    found = _with_teams(list(_narrow(Task.objects.filter(team_id__in=team_ids)).filter(state__in=wanted)))
    return _by_team(team_ids, found, _nodes(team_ids) if TaskState.BLOCKED in states else None)


@once
def _all_of_teams(team_ids: Collection[int]) -> dict[int, list[TaskCard]]:
    return _by_team(team_ids, _with_teams(_OF_TEAMS.found(Task, team_ids)))


def _by_team(
    team_ids: Collection[int], found: "Sequence[DerivedTask]", nodes: "Sequence[Node] | None" = None
) -> dict[int, list[TaskCard]]:
    """`nodes`: the tasks that may stand in the way, where that are others than those that are found."""
    nodes = nodes or [(task.pk, task.number, task.title, task.status, task.failed) for task in found]
    runs, asks = open_work.runs_of_teams(team_ids), open_work.asks_of_teams(team_ids)
    cards: dict[int, list[TaskCard]] = {team_id: [] for team_id in team_ids}
    for task, card in zip(found, _cards(found, _facts(runs, asks, team_ids, nodes)), strict=True):
        cards[task.team_id].append(card)
    return cards


@once_of
def one(task_id: int) -> TaskCard | None:
    """Return one task, seen within its whole team; None where there is none. Seven queries."""
    found = _with_teams(_OF_TASK.found(Task, task_id))
    if not found:
        return None
    team_id = found[0].team_id
    runs, asks = open_work.runs_of_task(task_id), open_work.asks_of_task(task_id)
    return _cards(found, _facts(runs, asks, [team_id], _nodes([team_id])))[0]


def _with_teams(found: Sequence[Task]) -> "list[DerivedTask]":
    """With the team of each; a team that was deleted meanwhile has no tasks any more."""
    theirs = stored(frozenset(task.team_id for task in found))
    left = [task for task in found if task.team_id in theirs]
    for task in left:
        task.team = theirs[task.team_id]
    return cast("list[DerivedTask]", left)


def _narrow(tasks: QuerySet[Task]) -> "QuerySet[DerivedTask]":
    wide = ("description", "criteria", "guidance", "evidence", "output", "metadata")
    return with_state(tasks).defer(*wide).order_by("team_id", "number")


_OF_TASK = Compiled(lambda pk: _narrow(Task.objects.filter(pk=pk)))
_OF_TEAMS = Compiled(lambda team_ids: _narrow(Task.objects.filter(team_id__in=team_ids)))


Node = tuple[int, int, str, str, bool]
"""A task of the graph: pk, number, title, status, failed."""


def _nodes(team_ids: Collection[int]) -> list[Node]:
    return list(Task.objects.filter(team_id__in=team_ids).values_list("pk", "number", "title", "status", "failed"))


def _facts(runs: Sequence[RunOf], asks: Sequence[AskOf], team_ids: Collection[int], nodes: Sequence[Node]) -> _Facts:
    facts = _Facts(timezone.now())
    for pk, number, title, status, failed in nodes:
        facts.links[pk] = Link(pk, number, title, TaskStatus(status))
        if failed:
            facts.failed.add(pk)
    edges = Dependency.objects.filter(task__team_id__in=team_ids).order_by("id")
    for task_id, needs_id in edges.values_list("task_id", "needs_id"):
        facts.deps[task_id].append(needs_id)
    facts.runs = {run.task_id: (agent_id, run) for agent_id, _, run in runs}
    facts.asks = {task_id: ask for _, task_id, ask in reversed(asks) if task_id is not None}
    facts.crews = crews(team_ids)
    return facts


def _cards(tasks: "Sequence[DerivedTask]", facts: _Facts) -> list[TaskCard]:
    deps = {pk: facts.deps.get(pk, []) for pk in facts.links}
    statuses = {pk: link.status for pk, link in facts.links.items()}
    dead = dead_ends(deps, statuses, failed=facts.failed)
    with through(under_way()):
        return [_card(task, facts, blockers(task.pk, deps, statuses, failed=facts.failed, dead=dead)) for task in tasks]


def _obstacles(facts: _Facts, blocked_by: tuple[Blocker[int], ...]) -> tuple[Obstacle, ...]:
    return tuple(
        Obstacle(facts.links[b.node], b.why, facts.links.get(b.root, facts.links[b.node]), b.never, _asks(facts, b.root))
        for b in blocked_by
        if b.node in facts.links
    )


def _asks(facts: _Facts, task_id: int) -> bool:
    ask = facts.asks.get(task_id)
    return ask is not None and not ask.with_lead_agent


def _reason(task: "DerivedTask", state: TaskState, run: OpenRun | None, facts: _Facts) -> str:
    ask = facts.asks.get(task.pk)
    if state is TaskState.IN_FLIGHT and ask is not None and ask.with_lead_agent:
        return ""  # whose it is says it all
    return reason(task, state, run, facts.crews[task.team_id], facts.now)


def _card(task: "DerivedTask", facts: _Facts, blocked_by: tuple[Blocker[int], ...]) -> TaskCard:
    crew, state = facts.crews[task.team_id], TaskState(task.state)
    agent_pk, run = facts.runs.get(task.pk, (None, None))
    return TaskCard(
        pk=task.pk,
        team_id=task.team_id,
        number=task.number,
        title=task.title,
        status=TaskStatus(task.status),
        state=state,
        reason=_reason(task, state, run, facts),
        priority=task.priority,
        position=task.position,
        role=task.role,
        assignee=crew.names.get(task.assignee_id or 0, ""),
        agent_pk=agent_pk,
        agent=crew.names.get(agent_pk or 0, ""),
        run=run,
        ask=facts.asks.get(task.pk),
        context=crew.contexts.get(agent_pk or 0),
        obstacles=() if state in (TaskState.DONE, TaskState.CANCELLED) else _obstacles(facts, blocked_by),
        failures=task.attempts,
        attempts_allowed=task.attempts_allowed,
        expected_min=task.expected_min,
        expected_max=task.expected_max,
        used_tokens=task.used_tokens,
        used_usd=task.used_usd,
        cost_partial=task.cost_partial,
        started_at=run.started_at if run else task.started_at,
        took_s=task.took_s if state is TaskState.DONE else None,
        completed_at=task.completed_at,
        completed_by=task.completed_by,
        not_before=task.not_before,
        over=run is not None and over_time(run.time.worked_s, task.expected_max),
        attention=task.status == TaskStatus.IN_PROGRESS
        and task.reviewed_in is None
        and (run is None or (run.status is RunStatus.RUNNING and not run.alive)),
        reviewed_in=task_label(task.reviewed_in) if task.reviewed_in else "",
        kind=REVIEW if task.review_of_id else task.type,
    )
