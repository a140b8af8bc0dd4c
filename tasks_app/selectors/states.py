"""The derived states of tasks, agents and teams: never stored, always computed from what is."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypedDict

from django.db.models import Case, CharField, Exists, OuterRef, Q, QuerySet, Subquery, Value, When

from tasks_app.domain.context import Level, Usage, usage
from tasks_app.domain.deciders import Decider
from tasks_app.domain.statuses import DecisionStatus, RunStatus, TaskStatus
from tasks_app.models import Decision, Dependency, Run, Task

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class Derived(TypedDict):
        """What `with_state` adds."""

        state: str
        reviewed_in: int | None
        took_s: float | None

    DerivedTask = WithAnnotations[Task, Derived]


class TaskState(StrEnum):
    """What a page says about a task, most urgent first."""

    WAITING = "waiting"  # it has an open decision of a person
    FAILED = "failed"  # pending, the last attempt failed and nobody has decided what is next
    BLOCKED = "blocked"  # pending, a dependency is not completed
    IN_FLIGHT = "in_flight"  # an agent works on it, or the lead agent decides about it
    QUEUED = "queued"  # ready: pending and every dependency completed
    DONE = "done"
    CANCELLED = "cancelled"


class AgentState(StrEnum):
    """What a page says about an agent."""

    WORKING = "working"  # its run has a live lease
    WAITING = "waiting"  # it has asked, and a person decides
    WITH_LEAD = "with_lead"  # it has asked, and the lead agent decides
    IDLE = "idle"
    STOPPED = "stopped"  # by the lead
    LOST = "lost"  # its run's lease ran out


class TeamState(StrEnum):
    """What a page says about a team: the most urgent thing in it, in this order."""

    WAITING = "waiting"
    FAILED = "failed"
    LOST = "lost"
    OVER_TIME = "over_time"
    BLOCKED = "blocked"  # something is blocked and nothing that runs or is queued can free it
    CONTEXT = "context"  # an agent that works is at 90 % of its context or above
    IN_FLIGHT = "in_flight"
    QUEUED = "queued"
    DONE = "done"


TEAM_WORD: Mapping[TeamState, str] = {
    TeamState.WAITING: "Waiting for you",
    TeamState.FAILED: "Failed",
    TeamState.LOST: "Lost",
    TeamState.OVER_TIME: "Over time",
    TeamState.BLOCKED: "Blocked",
    TeamState.CONTEXT: "Context critical",
    TeamState.IN_FLIGHT: "In flight",
    TeamState.QUEUED: "Queued",
    TeamState.DONE: "Done",
}
"""What page and terminal say of a team."""
URGENCY: Mapping[TeamState, int] = {state: position for position, state in enumerate(TeamState)}


def _state() -> Case:
    open_ones = Decision.objects.filter(task=OuterRef("pk"), status=DecisionStatus.OPEN.value)
    asked = open_ones.filter(decider=Decider.HUMAN.value)
    with_lead = open_ones.filter(decider=Decider.LEAD.value)
    joined = Run.objects.filter(task=OuterRef("pk"), status=RunStatus.PENDING.value, waits_for__status=DecisionStatus.OPEN.value)
    unmet = Dependency.objects.filter(task=OuterRef("pk")).exclude(needs__status=TaskStatus.COMPLETED.value)
    return Case(
        When(status=TaskStatus.COMPLETED.value, then=Value(TaskState.DONE.value)),
        When(status=TaskStatus.CANCELLED.value, then=Value(TaskState.CANCELLED.value)),
        When(Exists(asked) | Exists(joined.filter(waits_for__decider=Decider.HUMAN.value)), then=Value(TaskState.WAITING.value)),
        When(Q(status=TaskStatus.IN_PROGRESS.value) | Exists(with_lead), then=Value(TaskState.IN_FLIGHT.value)),
        When(failed=True, then=Value(TaskState.FAILED.value)),
        When(Exists(unmet), then=Value(TaskState.BLOCKED.value)),
        default=Value(TaskState.QUEUED.value),
        output_field=CharField(),
    )


def _reviewed_in() -> Subquery:
    review = Task.objects.filter(review_of=OuterRef("pk"), status__in=[TaskStatus.PENDING.value, TaskStatus.IN_PROGRESS.value])
    return Subquery(review.order_by("number").values("number")[:1])


def _took_s() -> Subquery:
    did = Run.objects.filter(task=OuterRef("pk"), status=RunStatus.COMPLETED.value)
    return Subquery(did.order_by("-attempt").values("worked_s")[:1])


STATE, REVIEWED_IN, TOOK_S = _state(), _reviewed_in(), _took_s()
STUCK = Exists(Dependency.objects.filter(task=OuterRef("pk"), needs__status=TaskStatus.CANCELLED.value))
"""The expressions, made once: a good part of a short statement's time is their making."""


def with_state(tasks: QuerySet[Task]) -> "QuerySet[DerivedTask]":
    """Return the tasks annotated with `state` (a `TaskState`) and `reviewed_in` (number).

    And with `took_s`: the working time of the attempt that completed it.
    """
    return tasks.annotate(state=STATE, reviewed_in=REVIEWED_IN, took_s=TOOK_S)


@dataclass(frozen=True)
class ContextUse:
    """How full an agent's context is. `percent` is None while it is unknown; it may exceed 100."""

    tokens: int | None
    window: int | None
    compacted_at: dt.datetime | None = None

    @property
    def reading(self) -> Usage:
        """The percentage and what it asks for."""
        return usage(self.tokens, self.window)

    @property
    def percent(self) -> int | None:
        """Whole percent, rounded half up; None while it is unknown."""
        return self.reading.percent

    @property
    def level(self) -> Level:
        """What the exact share asks for."""
        return self.reading.level


def over_time(worked_s: float, expected_max_min: float) -> bool:
    """Whether an attempt that is still open has worked for longer than expected."""
    return worked_s > expected_max_min * 60
