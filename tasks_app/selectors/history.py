"""The team's log, page by page, newest first."""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from tasks_app.domain.events import EventKind
from tasks_app.models import Agent, Event, Task

PAGE = 100


@dataclass(frozen=True)
class Line:
    """One event with the names of what it is about."""

    pk: int
    seq: int
    team_slug: str
    team_name: str
    kind: str
    at: dt.datetime
    actor: str
    task_pk: int | None
    task_number: int | None
    agent_pk: int | None
    agent: str
    run_id: str
    decision_id: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class HistoryPage:
    """Some events and where the earlier ones begin (None: there are none)."""

    lines: tuple[Line, ...]
    earlier: int | None


def page(
    team_ids: Collection[int], *, kind: str = "", before: int | None = None, steps: bool = False, limit: int = PAGE
) -> HistoryPage:
    """Return the latest events of these teams, `before` an event's pk; `steps` also shows what runs wrote. Three queries.

    `kind` is an event kind or the part before its dot (`decision`).
    """
    where = Q(team_id__in=team_ids)
    if kind:
        where &= Q(kind=kind) | Q(kind__startswith=f"{kind}.")
    if before is not None:
        where &= Q(pk__lt=before)
    found = Event.objects.filter(where).select_related("team").defer("team__plan", "team__rehearsal_script")
    if not steps and kind != EventKind.RUN_STEPS:
        found = found.exclude(kind=EventKind.RUN_STEPS.value)
    rows = list(found.order_by("-pk")[: limit + 1])
    shown = rows[:limit]
    agents = dict(Agent.objects.filter(pk__in={row.agent_id for row in shown if row.agent_id}).values_list("pk", "name"))
    numbers = {row.task_number for row in shown if row.task_number is not None}
    tasks = {
        (team, number): pk
        for team, number, pk in Task.objects.filter(team_id__in={row.team_id for row in shown}, number__in=numbers).values_list(
            "team_id", "number", "pk"
        )
    }
    lines = tuple(_line(row, agents, tasks) for row in shown)
    return HistoryPage(lines, shown[-1].pk if len(rows) > limit else None)


def _line(row: Event, agents: Mapping[int, str], tasks: Mapping[tuple[int, int], int]) -> Line:
    return Line(
        pk=row.pk,
        seq=row.seq,
        team_slug=row.team.slug,
        team_name=row.team.name,
        kind=row.kind,
        at=row.at,
        actor=row.actor,
        task_pk=tasks.get((row.team_id, row.task_number)) if row.task_number is not None else None,
        task_number=row.task_number,
        agent_pk=row.agent_id if row.agent_id in agents else None,
        agent=agents.get(row.agent_id or 0, ""),
        run_id=row.run_id,
        decision_id=row.decision_id,
        data=row.data,
    )
