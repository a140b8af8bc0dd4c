"""What is under way: the open runs of agents and tasks, and what they ask."""

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from tasks_app.domain.deciders import Decider
from tasks_app.domain.ids import task_label
from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, RunStatus
from tasks_app.domain.text import one_line
from tasks_app.models import Decision, Run
from tasks_app.selectors import worktime
from tasks_app.selectors.clock import DatabaseNow
from tasks_app.selectors.compiled import Compiled
from tasks_app.selectors.look import once
from tasks_app.selectors.worktime import Worktime
from tasks_app.selectors.written import OPEN_RUNS


@dataclass(frozen=True)
class OpenRun:
    """The open run of an agent: at most one exists."""

    id: str
    task_id: int
    task_number: int
    task_title: str
    attempt: int
    status: RunStatus
    started_at: dt.datetime | None
    expected_min: float
    expected_max: float
    silent_s: float  # since the last heartbeat; meaningful while running
    stopping: bool
    due: bool  # pending and may be claimed at once
    time: Worktime

    @property
    def label(self) -> str:
        """`T-42`."""
        return task_label(self.task_number)

    @property
    def alive(self) -> bool:
        """Whether a worker holds a live lease on it."""
        return self.status is RunStatus.RUNNING and self.silent_s < LEASE_S


@dataclass(frozen=True)
class OpenAsk:
    """The oldest open decision of an agent or task."""

    id: str
    kind: str
    title: str
    opened_at: dt.datetime
    parked: bool
    decider: str

    @property
    def with_lead_agent(self) -> bool:
        """Whether the lead agent decides; a person may answer all the same."""
        return self.decider == Decider.LEAD

    @property
    def is_review(self) -> bool:
        """Whether its task is reported as completed, and a person is to look at it."""
        return self.kind == DecisionKind.REVIEW


RunOf = tuple[int, int, OpenRun]
"""Agent id, team id, run."""
AskOf = tuple[int | None, int | None, OpenAsk]
"""Agent id, task id, decision."""


@once
def runs_of_teams(team_ids: Collection[int]) -> list[RunOf]:
    """Return the open runs of these teams; one query."""
    return _runs_of(_RUNS_OF_TEAMS.values(team_ids))


@once
def asks_of_teams(team_ids: Collection[int]) -> list[AskOf]:
    """Return the open decisions of these teams, as `asks`; one query."""
    return _asks_of(_ASKS_OF_TEAMS.values(team_ids))


def runs_of_task(task_id: int) -> list[RunOf]:
    """Return the open run of a task, in a list; one query."""
    return _runs_of(_RUNS_OF_TASK.values(task_id))


def asks_of_task(task_id: int) -> list[AskOf]:
    """Return the open decisions of a task, as `asks`; one query."""
    return _asks_of(_ASKS_OF_TASK.values(task_id))


def runs(where: Q) -> list[RunOf]:
    """Return the open runs that match; one query."""
    return _runs_of(_runs(where))


def _runs_of(rows: Iterable[tuple[Any, ...]]) -> list[RunOf]:
    return [(agent_id, team_id, _open_run(row)) for agent_id, team_id, *row in rows]


_OF_RUN = ("id", "task_id", "task__number", "task__title", "attempt", "task__expected_min", "task__expected_max")


def _runs(where: Q) -> QuerySet[Run, tuple[Any, ...]]:
    found = Run.objects.filter(where, status__in=OPEN_RUNS).annotate(database_s=DatabaseNow(), **worktime.ADDED)
    return found.values_list("agent_id", "team_id", *_OF_RUN, "stop_asked_at", "due_at", *worktime.Facts._fields)


_RUNS_OF_TEAMS = Compiled(lambda team_ids: _runs(Q(team_id__in=team_ids)))
_RUNS_OF_TASK = Compiled(lambda task_id: _runs(Q(task_id=task_id)))


def _open_run(row: list[Any]) -> OpenRun:
    id_, task_id, number, title, attempt, low, high, stop_asked_at, due_at, *columns = row
    facts = worktime.Facts(*columns)
    return OpenRun(
        id=id_,
        task_id=task_id,
        task_number=number,
        task_title=title,
        attempt=attempt,
        status=RunStatus(facts.status),
        started_at=facts.started_at,
        expected_min=low,
        expected_max=high,
        silent_s=facts.silent_s,
        stopping=stop_asked_at is not None,
        due=due_at <= facts.database_s,
        time=worktime.read(facts),
    )


def asks(where: Q) -> list[AskOf]:
    """Return the open decisions that match: a person's first, then oldest first; one query.

    A decision that several runs wait for together is there for each of them. `where` fits decisions and runs.
    """
    return _asks_of(_asks(where))


def _asks(where: Q) -> QuerySet[Decision, tuple[Any, ...]]:
    words = ("id", "kind", "title", "opened_at", "parked", "decider")
    own = Decision.objects.filter(where, status=DecisionStatus.OPEN.value).order_by()
    open_ = Run.objects.filter(where, status__in=OPEN_RUNS)
    joined = open_.filter(status=RunStatus.PENDING.value, waits_for__status=DecisionStatus.OPEN.value)
    rows = own.values_list("agent_id", "task_id", *words).union(
        joined.values_list("agent_id", "task_id", *(f"waits_for__{word}" for word in words)), all=True
    )
    return rows.order_by("opened_at", "id")


_ASKS_OF_TEAMS = Compiled(lambda team_ids: _asks(Q(team_id__in=team_ids)))
_ASKS_OF_TASK = Compiled(lambda task_id: _asks(Q(task_id=task_id)))


def _asks_of(rows: Iterable[tuple[Any, ...]]) -> list[AskOf]:
    found = [(row[0], row[1], OpenAsk(row[2], row[3], one_line(row[4], 300), *row[5:])) for row in rows]
    return sorted(found, key=lambda row: row[2].with_lead_agent)
