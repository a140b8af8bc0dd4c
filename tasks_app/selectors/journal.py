"""The team's log and the lead's requests as a terminal or a scripted lead reads them."""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Max, Model

from tasks_app.domain.ids import task_label
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, RunStatus, TaskStatus
from tasks_app.models import Agent, Decision, Dependency, Event, Message, Run, Task, Team

PAGE = 500


@dataclass(frozen=True)
class Request:
    """What an event about a decision needs to be told in words; texts as the agent and the lead wrote them."""

    kind: str
    title: str = ""
    choice: str = ""
    note: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)
    tool: str = ""  # of a permission
    target: str = ""  # its command, file or address
    rule: str = ""  # on offer
    scope: str = ""  # of a budget
    open: bool = False  # now, whatever it was at the event


@dataclass(frozen=True)
class Entry:
    """One event of the log, with the names of what it is about."""

    seq: int
    kind: str
    at: dt.datetime
    actor: str
    data: Mapping[str, Any]
    pk: int = 0
    team: str = ""
    team_slug: str = ""
    task: str = ""  # T-42, or nothing
    task_pk: int | None = None
    task_title: str = ""
    allowed: int | None = None  # attempts of the task; None also where some do not count: their numbers go beyond what is allowed
    run: str = ""
    attempt: int | None = None
    agent: str = ""
    agent_pk: int | None = None
    decision: str = ""
    request: Request | None = None
    message: str = ""  # its text


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
    """Return the events after `after` in order, at most `limit`; see `named`."""
    return named(list(Event.objects.filter(team_id=team_id, seq__gt=after).order_by("seq")[:limit]))


def named(rows: Sequence[Event]) -> Sequence[Entry]:
    """Return these events with the names of what they are about; at most six queries, one for each kind of thing in them."""
    if not rows:
        return []
    teams = {pk: (name, slug) for pk, name, slug in _rows(Team, {row.team_id for row in rows}, "pk", "name", "slug")}
    agents = dict(_rows(Agent, {row.agent_id for row in rows if row.agent_id}, "pk", "name"))
    attempts = dict(_rows(Run, {row.run_id for row in rows if row.run_id}, "pk", "attempt"))
    messages = dict(_rows(Message, {row.data["message"] for row in rows if row.data.get("message")}, "pk", "body"))
    tasks, requests = _tasks(rows), _requests({row.decision_id for row in rows if row.decision_id})
    found = []
    for row in rows:
        task_pk, title, allowed = tasks.get((row.team_id, row.task_number), (None, "", None))
        name, slug = teams.get(row.team_id, ("", ""))
        found.append(
            Entry(
                seq=row.seq,
                kind=row.kind,
                at=row.at,
                actor=row.actor,
                data=row.data,
                pk=row.pk,
                team=name,
                team_slug=slug,
                task=task_label(row.task_number) if row.task_number is not None else "",
                task_pk=task_pk,
                task_title=title,
                allowed=allowed,
                run=row.run_id,
                attempt=attempts.get(row.run_id),
                agent=agents.get(row.agent_id or 0, ""),
                agent_pk=row.agent_id if row.agent_id in agents else None,
                decision=row.decision_id,
                request=requests.get(row.decision_id),
                message=messages.get(row.data.get("message"), ""),
            )
        )
    return found


def _rows(model: type[Model], pks: Collection[Any], *names: str) -> Iterable[tuple[Any, ...]]:
    return model._default_manager.filter(pk__in=pks).values_list(*names) if pks else ()


UNDER_WAY = (TaskStatus.IN_PROGRESS, TaskStatus.COMPLETED)
"""The last attempt counts, too, though it has not failed."""


def _tasks(rows: Sequence[Event]) -> Mapping[tuple[int, int | None], tuple[int | None, str, int | None]]:
    numbers = {row.task_number for row in rows if row.task_number is not None}
    if not numbers:
        return {}
    found = Task.objects.filter(team_id__in={row.team_id for row in rows}, number__in=numbers).annotate(last=Max("runs__attempt"))
    facts = found.values_list("team_id", "number", "pk", "title", "attempts_allowed", "attempts", "status", "last")
    return {
        (team, number): (pk, title, allowed if (last or 0) <= failures + (status in UNDER_WAY) else None)
        for team, number, pk, title, allowed, failures, status, last in facts
    }


TARGETS = ("payload__input__command", "payload__input__file_path", "payload__input__path", "payload__input__url")


def _requests(pks: Collection[str]) -> Mapping[str, Request]:
    """Only the parts of the payload that are told: a plan or a file's new content may be large."""
    names = ("title", "choice", "note", "answer", "status", "payload__tool", "payload__rule", "payload__scope")
    return {
        pk: Request(
            kind=kind,
            title=title,
            choice=choice,
            note=note,
            answer=answer or {},
            tool=tool or "",
            target=str(next(filter(None, targets), "")),
            rule=rule or "",
            scope=scope or "",
            open=status == DecisionStatus.OPEN,
        )
        for pk, kind, title, choice, note, answer, status, tool, rule, scope, *targets in _rows(
            Decision, pks, "pk", "kind", *names, *TARGETS
        )
    }


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
