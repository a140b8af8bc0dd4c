"""The team's log and the lead's requests as a terminal or a scripted lead reads them."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks_app.domain.ids import task_label
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, RunStatus
from tasks_app.models import Agent, Decision, Dependency, Event, Run, Task, Team

PAGE = 500


@dataclass(frozen=True)
class Entry:
    """One event of the log, with the names of what it is about."""

    seq: int
    kind: str
    at: dt.datetime
    actor: str
    task: str  # T-42, or nothing
    run: str
    agent: str
    decision: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """One request to the lead, whatever became of it."""

    id: str
    kind: DecisionKind
    status: DecisionStatus
    title: str
    agent: str
    task_names: tuple[str, ...]  # key, label, title; nothing where it is about no task
    payload: Mapping[str, Any]
    payload_hash: str
    version: int


@dataclass(frozen=True)
class FailedRun:
    """An attempt that failed, while its task still waits for somebody to decide what is next or is tried again."""

    run_id: str
    task_pk: int
    task_names: tuple[str, ...]
    attempt: int
    agent: str


def entries(team_id: int, *, after: int, limit: int = PAGE) -> Sequence[Entry]:
    """Return the events after `after` in order, at most `limit`; two queries."""
    rows = list(Event.objects.filter(team_id=team_id, seq__gt=after).order_by("seq")[:limit])
    names = dict(Agent.objects.filter(pk__in={row.agent_id for row in rows if row.agent_id}).values_list("pk", "name"))
    return [
        Entry(
            seq=row.seq,
            kind=row.kind,
            at=row.at,
            actor=row.actor,
            task=task_label(row.task_number) if row.task_number is not None else "",
            run=row.run_id,
            agent=names.get(row.agent_id or 0, ""),
            decision=row.decision_id,
            data=row.data,
        )
        for row in rows
    ]


def last_seq(team_id: int) -> int:
    """Return the sequence number of the newest event; 0 for a team without any."""
    return Team.objects.filter(pk=team_id).values_list("last_seq", flat=True).first() or 0


def asked(team_id: int) -> Sequence[Asked]:
    """Return every request of the team, oldest first; one query."""
    rows = Decision.objects.filter(team_id=team_id).select_related("agent", "task").order_by("opened_at", "pk")
    return [
        Asked(
            id=row.pk,
            kind=DecisionKind(row.kind),
            status=DecisionStatus(row.status),
            title=row.title,
            agent=row.agent.name if row.agent else "",
            task_names=_names(row.task),
            payload=row.payload,
            payload_hash=row.payload_hash,
            version=row.version,
        )
        for row in rows
    ]


def failed_runs(team_id: int) -> Sequence[FailedRun]:
    """Return the failed attempts of tasks that are not finished, oldest first; one query."""
    rows = Run.objects.filter(team_id=team_id, status=RunStatus.FAILED.value, task__status__in=("pending", "in_progress"))
    return [
        FailedRun(run.pk, run.task_id, _names(run.task), run.attempt, run.agent.name)
        for run in rows.select_related("task", "agent").order_by("ended_at", "pk")
    ]


def _names(task: Task | None) -> tuple[str, ...]:
    return (task.key, task.label, task.title) if task else ()


def needs(team_id: int) -> Mapping[int, Sequence[int]]:
    """Return for each task of the team what it depends on, by primary keys; one query."""
    found: dict[int, list[int]] = {}
    for task_id, needs_id in Dependency.objects.filter(task__team_id=team_id).order_by("id").values_list("task_id", "needs_id"):
        found.setdefault(task_id, []).append(needs_id)
    return found


def agent_named(team_id: int, name: str) -> int | None:
    """Return the primary key of the agent of that name, whatever its case; None where there is none."""
    return Agent.objects.filter(team_id=team_id, name__iexact=name).values_list("pk", flat=True).first()


def agent_names(team_id: int) -> Sequence[str]:
    """Return the names of the team's agents in their order; one query."""
    return list(Agent.objects.filter(team_id=team_id).values_list("name", flat=True))


def known_runs(run_ids: Collection[str]) -> set[str]:
    """Return those of the ids that are runs of this database; one query."""
    return set(Run.objects.filter(pk__in=run_ids).values_list("pk", flat=True))
