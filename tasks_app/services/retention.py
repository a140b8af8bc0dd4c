"""Retention: what has aged out is removed, in batches so small that nobody waits for them. Off unless a rule is set.

Steps and transcripts go with their whole attempt, a set time after its end; an attempt that can still go on keeps both. Events go
oldest first, team by team, so that what is left of a log has no gap. Attempts let go of their snapshots; `pruning` removes them.
"""

import datetime as dt
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields

from django.db import transaction
from django.db.models import DateTimeField, Exists, OuterRef, Q, QuerySet, Subquery

from tasks_app.domain.statuses import OPEN_RUN, UNFINISHED, DecisionStatus
from tasks_app.models import Agent, Checkpoint, Decision, Event, Run, Step, Task, Team, TranscriptEntry
from tasks_app.services import agents, events, runs, steps
from tasks_app.services.clock import now_s

BATCH = 500
"""Rows that one transaction removes: a few milliseconds."""
LOOK_AT = 50
"""Attempts that are looked at for one batch."""
OPEN = [status.value for status in OPEN_RUN]


@dataclass(frozen=True)
class Rules:
    """Days after which each goes; 0: never."""

    steps: float = 0
    transcripts: float = 0
    events: float = 0
    snapshots: float = 0

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))


def sweep(rules: Rules) -> int:
    """Remove one batch of whatever has aged out; returns the rows removed: 0 when there is nothing left to do."""
    return sum(_remove(_cutoff(getattr(rules, name))) for name, (_, _remove) in KINDS.items() if getattr(rules, name))


def due(rules: Rules) -> dict[str, int]:
    """Return how many rows the rules would remove now, by kind; nothing for a kind without a rule."""
    return {name: _count(_cutoff(getattr(rules, name))) for name, (_count, _) in KINDS.items() if getattr(rules, name)}


def _cutoff(days: float) -> dt.datetime:
    """By the database's clock: a host whose clock has jumped must not remove what is young."""
    return dt.datetime.fromtimestamp(now_s(), dt.UTC) - dt.timedelta(days=days)


def _ended(cutoff: dt.datetime) -> QuerySet[Run]:
    return Run.objects.exclude(status__in=OPEN).filter(ended_at__lt=cutoff)


# steps ---------------------------------------------------------------------------------------------------------------


def _count_steps(cutoff: dt.datetime) -> int:
    return Step.objects.filter(run__in=_ended(cutoff)).count()


@transaction.atomic
def _remove_steps(cutoff: dt.datetime) -> int:
    """The lowest numbers of an attempt go first: what is left is its end."""
    with_steps = _ended(cutoff).filter(Exists(Step.objects.filter(run=OuterRef("pk"))))
    mine = list(with_steps.select_for_update(skip_locked=True).values_list("pk", flat=True)[:LOOK_AT])
    rows = Step.objects.filter(run__in=mine).order_by("run_id", "seq").values_list("pk", flat=True)[:BATCH]
    return Step.objects.filter(pk__in=list(rows)).delete()[0]


# transcripts ---------------------------------------------------------------------------------------------------------


def _forgettable(cutoff: dt.datetime) -> QuerySet[Run]:
    """Attempts in whose session nobody may go on: no attempt that is open, young, or of a task that may be tried again."""
    same = Run.objects.filter(session_id=OuterRef("session_id"))
    in_use = same.filter(Q(status__in=OPEN) | Q(ended_at__gte=cutoff) | Q(task__status__in=UNFINISHED))
    next_task = Agent.objects.filter(pk=OuterRef("agent"), session_id=OuterRef("session_id"), team__ended_at=None)
    old = _ended(cutoff).exclude(session_id="").filter(started_session=True)
    return old.exclude(Exists(in_use)).exclude(Exists(next_task)).exclude(session_id__in=_named_by_checkpoints())


def _named_by_checkpoints() -> set[str]:
    """The sessions that a checkpoint somebody saved goes back to. Those the system saves by itself keep nothing from ageing."""
    found: set[str] = set()
    for places in Checkpoint.objects.filter(automatic=False).values_list("data__agents", flat=True).iterator():
        found |= {str((one.get("position") or {}).get("session_id") or "") for one in places or ()}
    return found


def _count_transcripts(cutoff: dt.datetime) -> int:
    return TranscriptEntry.objects.filter(session_id__in=_forgettable(cutoff).values("session_id")).count()


@transaction.atomic
def _remove_transcripts(cutoff: dt.datetime) -> int:
    """First nobody goes on in the session any more, in the same commit; what is left of it is of no use to anybody."""
    found = _forgettable(cutoff).select_for_update(skip_locked=True).values_list("session_id", flat=True)[:LOOK_AT]
    sessions = set(found)
    for agent_id in Agent.objects.filter(session_id__in=sessions).values_list("pk", flat=True):
        agents.forget_session(agent_id)
    rows = TranscriptEntry.objects.filter(session_id__in=sessions).order_by("session_id", "pk")[:BATCH]
    removed = TranscriptEntry.objects.filter(pk__in=list(rows.values_list("pk", flat=True))).delete()[0]
    left = set(TranscriptEntry.objects.filter(session_id__in=sessions).values_list("session_id", flat=True).distinct())
    runs.forget_sessions(sessions - left)
    return removed + len(sessions - left)


# events --------------------------------------------------------------------------------------------------------------


def _with_old_events(cutoff: dt.datetime) -> QuerySet[Team]:
    first = Event.objects.filter(team=OuterRef("pk")).order_by("seq").values("at")[:1]
    return Team.objects.annotate(first_at=Subquery(first, output_field=DateTimeField())).filter(first_at__lt=cutoff)


def _old_events(team_id: int, cutoff: dt.datetime) -> Iterator[int]:
    """Yield the events before the first one that is young or belongs to an attempt, a request or a task that is still open."""
    runs_open = set(Run.objects.filter(team=team_id, status__in=OPEN).values_list("pk", flat=True))
    asked = set(Decision.objects.filter(team=team_id, status=DecisionStatus.OPEN.value).values_list("pk", flat=True))
    to_do = set(Task.objects.filter(team=team_id, status__in=UNFINISHED).values_list("number", flat=True))
    rows = Event.objects.filter(team=team_id).order_by("seq").values_list("pk", "at", "run_id", "decision_id", "task_number")
    for pk, at, run_id, decision_id, number in rows.iterator(chunk_size=BATCH):
        if at >= cutoff or run_id in runs_open or decision_id in asked or number in to_do:
            return
        yield pk


def _count_events(cutoff: dt.datetime) -> int:
    return sum(sum(1 for _ in _old_events(team.pk, cutoff)) for team in _with_old_events(cutoff))


@transaction.atomic
def _remove_events(cutoff: dt.datetime) -> int:
    for team in _with_old_events(cutoff).order_by("pk"):
        rows = list(itertools.islice(_old_events(team.pk, cutoff), BATCH))
        if rows:
            return Event.objects.filter(pk__in=rows).delete()[0]
    return 0


# snapshots -----------------------------------------------------------------------------------------------------------


def _letting_go(cutoff: dt.datetime) -> QuerySet[Run]:
    """Attempts to whose files nobody goes back: old ones of tasks that are finished."""
    return _ended(cutoff).exclude(workspace_commit="").exclude(task__status__in=UNFINISHED)


def _count_snapshots(cutoff: dt.datetime) -> int:
    return _letting_go(cutoff).count()


@transaction.atomic
def _remove_snapshots(cutoff: dt.datetime) -> int:
    """One attempt at a time, under its team's lock: a rewind, a fork or a new attempt is before this, or knows of it."""
    found = _letting_go(cutoff).order_by("ended_at").first()
    if found is None:
        return 0
    events.lock(found.team_id)
    for run in _letting_go(cutoff).filter(team=found.team_id).order_by("ended_at").values_list("pk", flat=True)[:LOOK_AT]:
        steps.forget_files(run)
        runs.forget_files(run)
    return 1


KINDS: Mapping[str, tuple[Callable[[dt.datetime], int], Callable[[dt.datetime], int]]] = {
    "steps": (_count_steps, _remove_steps),
    "transcripts": (_count_transcripts, _remove_transcripts),
    "events": (_count_events, _remove_events),
    "snapshots": (_count_snapshots, _remove_snapshots),
}
