"""A glance at a team: what a tick has to look after, by one statement. Most ticks find nothing but a task to give out."""

from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, QuerySet
from django.db.models.expressions import Combinable

from tasks_app.domain.deciders import TURN
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, TaskStatus
from tasks_app.models import Decision, Run, Task, Team
from tasks_app.selectors import queue
from tasks_app.selectors.compiled import Compiled
from tasks_app.selectors.written import OPEN_RUNS
from tasks_app.services import capacity, handing, leading, stuck, talk


@dataclass(frozen=True)
class Glance:
    """What there is. `settles`: something that changes what the rest of the tick reads."""

    cancelled: bool  # a run of a task that was cancelled
    failed: bool  # a task whose failure is not settled
    stuck: bool  # a request about a stuck task, or a lead agent that would be asked
    leads: bool  # a request for the lead agent, or a turn of it
    unfinished: bool
    at_work: int  # runs that take a place, or may at once

    @property
    def settles(self) -> bool:
        """Whether there is more to do than to give tasks out."""
        return self.cancelled or self.failed or self.stuck or self.leads


def at(team_id: int) -> Glance:
    """Return what a tick of this team has to look after. Called under its lock."""
    [(cancelled, failed, is_stuck, leads, unfinished)] = _SEEN.rows(team_id)
    return Glance(
        bool(cancelled), bool(failed), bool(is_stuck), bool(leads), bool(unfinished), capacity.at_work(team_id, due=True)
    )


def cancelled(team_id: int) -> QuerySet[Run]:
    """Return the runs that go on though their task was cancelled, and that nobody has asked to stop yet."""
    left = Run.objects.filter(team_id=team_id, status__in=OPEN_RUNS, stop_asked_at__isnull=True)
    return left.filter(task__status=TaskStatus.CANCELLED.value)


def unsettled(team_id: int) -> QuerySet[Task]:
    """Return the tasks whose failure is to be settled. Those that the lead was asked about already wait for the answer."""
    asked = Decision.objects.filter(
        task=OuterRef("pk"), run=None, kind=DecisionKind.ESCALATION.value, status=DecisionStatus.OPEN.value
    )
    failed = Task.objects.filter(team_id=team_id, status=TaskStatus.PENDING.value, failed=True)
    return failed.exclude(type=TURN).exclude(Exists(asked))


def _seen(team_id: int) -> QuerySet[Team, tuple[Any, ...]]:
    return Team.objects.filter(pk=team_id).values_list(
        Exists(cancelled(team_id)),
        Exists(unsettled(team_id)),
        _either(stuck.asked(team_id), talk.leads(team_id)),
        _either(handing.waiting(team_id), leading.open_turns(team_id)),
        Exists(queue.unfinished(team_id)),
    )


def _either(one: QuerySet[Any], other: QuerySet[Any]) -> Combinable:
    return ExpressionWrapper(Exists(one) | Exists(other), BooleanField())


_SEEN = Compiled(_seen)
