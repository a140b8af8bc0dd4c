"""A glance at a team: what a tick has to look after, by two statements. Most ticks find nothing but a task to give out."""

from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, QuerySet

from tasks_app.domain.deciders import TURN
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, TaskStatus
from tasks_app.models import Decision, Run, Task, Team
from tasks_app.selectors import queue
from tasks_app.selectors.compiled import Compiled
from tasks_app.selectors.written import OPEN_RUNS
from tasks_app.services import capacity, handing, leading, stuck, talk


@dataclass(frozen=True)
class Glance:
    """What there is to do for a tick."""

    settles: bool  # more than to give tasks out: what changes that the rest of the tick reads
    unfinished: bool
    at_work: int  # runs that take a place, or may at once


def at(team_id: int) -> Glance:
    """Return what a tick of this team has to look after. Called under its lock."""
    [(settles, unfinished)] = _SEEN.rows(team_id)
    return Glance(bool(settles), bool(unfinished), capacity.at_work(team_id, due=True))


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
    settles = (
        Exists(cancelled(team_id))
        | Exists(unsettled(team_id))
        | Exists(stuck.asked(team_id))
        | Exists(talk.leads(team_id))  # who would be asked about what is stuck
        | Exists(handing.waiting(team_id))
        | Exists(leading.open_turns(team_id))
    )
    return Team.objects.filter(pk=team_id).values_list(
        ExpressionWrapper(settles, BooleanField()), Exists(queue.unfinished(team_id))
    )


_SEEN = Compiled(_seen)
