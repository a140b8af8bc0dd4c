"""The inbox: what waits for the lead, in order, and each decision as its page shows it."""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Case, Count, Q, QuerySet, When
from django.utils import timezone

from tasks_app.domain import asked
from tasks_app.domain.deciders import Decider
from tasks_app.domain.graph import waiting_behind
from tasks_app.domain.ids import task_label
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, TaskStatus
from tasks_app.models import Decision, Dependency, Step
from tasks_app.models.teams import LARGE_OF_TEAM
from tasks_app.selectors.look import once

LOOK = dt.timedelta(minutes=10)
"""For so long it is shown that somebody looks, and reminders are quiet; then they return."""
STEPS_BEFORE = 6
TITLE = 300
SHOWN = (
    "id", "team_id", "kind", "status", "title", "agent_id", "task_id", "run_id", "opened_at", "expires_at", "snoozed_until",
    "looked_by", "looked_at",
    "parked", "decider", "lead_until", "handed_why", "team__slug",
    "team__name", "team__rehearsal", "agent__name", "task__number", "task__title",
)  # fmt: skip
"""What an item says: a list of them reads nothing else, for what is asked may be long."""

PERSONS = Q(decider=Decider.HUMAN.value)
"""What nobody but a person decides on now: what the lead agent looks at is listed, and not counted as waiting for you."""


@dataclass(frozen=True)
class Item:
    """One row of the inbox."""

    id: str
    team_id: int
    team_slug: str
    team_name: str
    rehearsal: bool
    kind: DecisionKind
    status: DecisionStatus
    title: str
    agent_pk: int | None
    agent: str
    task_pk: int | None
    task_number: int | None
    task_title: str
    run_id: str
    opened_at: dt.datetime
    expires_at: dt.datetime | None
    snoozed_until: dt.datetime | None
    looked_by: str  # who said last that they look at it; `looking`: whether that still counts
    looked_at: dt.datetime | None
    parked: bool
    with_lead_agent: bool  # the lead agent looks at it; a person may answer all the same
    lead_until: dt.datetime | None
    handed_why: str  # why the lead agent did not decide it
    blocks_work: bool  # other tasks wait behind it, or it holds a running process
    behind: int  # how many tasks wait behind its task

    @property
    def task_label(self) -> str:
        """`T-42`, or nothing."""
        return task_label(self.task_number) if self.task_number is not None else ""

    @property
    def looking(self) -> bool:
        """Whether somebody has said of late that they look at it."""
        return self.open and self.looked_at is not None and timezone.now() - self.looked_at < LOOK

    @property
    def snoozed(self) -> bool:
        """Whether it was put aside, until `snoozed_until`."""
        return self.open and self.snoozed_until is not None and self.snoozed_until > timezone.now()

    @property
    def open(self) -> bool:
        """Whether it still waits for an answer."""
        return self.status is DecisionStatus.OPEN


@dataclass(frozen=True)
class OnCall:
    """What on-call was told of a decision. No error and no `told_at`: nothing was tried."""

    told_at: dt.datetime | None
    error: str  # why the last try failed, in words
    next_at: dt.datetime | None  # None: it was told, or given up


@dataclass(frozen=True)
class Detail:
    """One decision with all that its page shows."""

    item: Item
    payload: Mapping[str, Any]
    payload_hash: str
    version: int
    subagent: str
    choice: str
    note: str
    answer: Mapping[str, Any]
    answered_by: str
    answered_at: dt.datetime | None
    closed_why: str
    delivered_at: dt.datetime | None
    oncall: OnCall
    before: tuple[tuple[dt.datetime, str, str], ...]  # (when, kind, text) of the last steps before it was asked

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Why what is shown may not be all that is asked."""
        return asked.warnings(self.payload)

    @property
    def risks(self) -> tuple[str, ...]:
        """What could go wrong if it is allowed, in sentences, and `warnings`."""
        risk = self.payload.get("risk")
        named = risk.get("sentences") if isinstance(risk, Mapping) else None
        return (*map(str, named or ()), *self.warnings)

    @property
    def visible(self) -> Mapping[str, Any]:
        """The payload for who reads it as data: every character of it to be seen."""
        found: Mapping[str, Any] = asked.visible_json(self.payload, prose=self.item.kind is not DecisionKind.PERMISSION)
        return found

    @property
    def high_risk(self) -> bool:
        """Whether allowing it takes a second press."""
        return asked.high_risk(self.payload)


@dataclass(frozen=True)
class Numbers:
    """How many decisions wait."""

    open: int = 0  # snoozed ones included
    snoozed: int = 0


NONE = Numbers()


@dataclass(frozen=True)
class Waiting:
    """What the attention bar says."""

    count: int
    snoozed: int
    oldest: Item | None


def open_items(team_ids: Collection[int], *, kind: str = "") -> list[Item]:
    """Return what waits: first what blocks work, then the rest, oldest first in both; snoozed ones last. Two queries."""
    return [item for item in _open_items(team_ids) if not kind or item.kind == kind]


@once
def _open_items(team_ids: Collection[int]) -> list[Item]:
    rows = list(_open_rows(team_ids))
    behind = _behind({row.team_id for row in rows})
    now = timezone.now()
    items = [_item(row, behind) for row in rows]
    return sorted(items, key=lambda item: (_snoozed(item, now), not item.blocks_work, item.opened_at, item.id))


@once
def counts(team_ids: Collection[int]) -> Mapping[int, Numbers]:
    """Return how many decisions of each team wait for a person; a team where none does is missing. One query."""
    rows = Decision.objects.filter(PERSONS, team_id__in=team_ids, status=DecisionStatus.OPEN.value).order_by()
    asleep = Count("pk", filter=Q(snoozed_until__gt=timezone.now()))
    return {team: Numbers(*found) for team, *found in rows.values_list("team_id").annotate(n=Count("pk"), asleep=asleep)}


def total(team_ids: Collection[int]) -> Numbers:
    """Return how many decisions of these teams wait in all; one query."""
    found = counts(team_ids).values()
    return Numbers(sum(one.open for one in found), sum(one.snoozed for one in found))


def waiting(team_ids: Collection[int]) -> Waiting:
    """Return how much waits and what has waited longest, snoozed ones counted apart; two queries."""
    found = total(team_ids)
    asleep = Case(When(snoozed_until__gt=timezone.now(), then=1), default=0)
    first = _open_rows(team_ids).filter(PERSONS).order_by(asleep, "opened_at", "id").first() if found.open else None
    return Waiting(found.open, found.snoozed, _item(first, {})) if first else Waiting(0, found.snoozed, None)


def answered_since(team_ids: Collection[int], since: dt.datetime) -> tuple[int, dt.datetime | None]:
    """Return how many decisions were answered since then, and when the last one ever was; two queries."""
    answered = Decision.objects.filter(team_id__in=team_ids, status=DecisionStatus.ANSWERED.value, answered_at__isnull=False)
    last = answered.order_by("-answered_at").values_list("answered_at", flat=True).first()
    return answered.filter(answered_at__gte=since).count(), last


def detail(decision_id: str) -> Detail | None:
    """Return one decision, or None; at most four queries."""
    row = _rows(None).filter(pk=decision_id).first()
    if row is None:
        return None
    before = Step.objects.filter(run_id=row.run_id, at__lte=row.opened_at).order_by("-seq")[:STEPS_BEFORE] if row.run_id else ()
    steps = tuple((step.at, step.kind, step.text) for step in reversed(list(before)))
    return _detail(row, _behind({row.team_id}), steps)


def team_of(decision_id: str) -> int | None:
    """Return the team of a decision, or None."""
    return Decision.objects.filter(pk=decision_id).values_list("team_id", flat=True).first()


def _rows(team_ids: Collection[int] | None) -> QuerySet[Decision]:
    rows = Decision.objects.select_related("team", "agent", "task", "run").defer(*LARGE_OF_TEAM)
    return rows if team_ids is None else rows.filter(team_id__in=team_ids)


def _open_rows(team_ids: Collection[int]) -> QuerySet[Decision]:
    rows = Decision.objects.filter(team_id__in=team_ids, status=DecisionStatus.OPEN.value)
    return rows.select_related("team", "agent", "task").only(*SHOWN)


def _behind(team_ids: Collection[int]) -> dict[int, int]:
    """Return for each task of these teams how many unfinished tasks wait for it, directly or not; one query."""
    deps: dict[int, list[int]] = {}
    unfinished = Q(task__status__in=[TaskStatus.PENDING.value, TaskStatus.IN_PROGRESS.value])
    for task_id, needs_id in Dependency.objects.filter(unfinished, task__team_id__in=team_ids).values_list("task_id", "needs_id"):
        deps.setdefault(task_id, []).append(needs_id)
    return {needed: waiting_behind(needed, deps) for needed in {needed for wanted in deps.values() for needed in wanted}}


def _item(row: Decision, behind: Mapping[int, int]) -> Item:
    count = behind.get(row.task_id or 0, 0)
    return Item(
        id=row.pk,
        team_id=row.team_id,
        team_slug=row.team.slug,
        team_name=row.team.name,
        rehearsal=row.team.rehearsal,
        kind=DecisionKind(row.kind),
        status=DecisionStatus(row.status),
        title=asked.line(row.title, TITLE),
        agent_pk=row.agent_id,
        agent=row.agent.name if row.agent else "",
        task_pk=row.task_id,
        task_number=row.task.number if row.task else None,
        task_title=row.task.title if row.task else "",
        run_id=row.run_id or "",
        opened_at=row.opened_at,
        expires_at=row.expires_at,
        snoozed_until=row.snoozed_until,
        looked_by=row.looked_by,
        looked_at=row.looked_at,
        parked=row.parked,
        with_lead_agent=row.decider == Decider.LEAD.value,
        lead_until=row.lead_until,
        handed_why=row.handed_why,
        blocks_work=count > 0,
        behind=count,
    )


def _detail(row: Decision, behind: Mapping[int, int], before: tuple[tuple[dt.datetime, str, str], ...]) -> Detail:
    return Detail(
        item=_item(row, behind),
        payload=row.payload,
        payload_hash=row.payload_hash,
        version=row.version,
        subagent=row.subagent,
        choice=row.choice,
        note=row.note,
        answer=row.answer,
        answered_by=row.answered_by,
        answered_at=row.answered_at,
        closed_why=row.closed_why,
        delivered_at=row.delivered_at,
        oncall=OnCall(row.notified_at, row.notify_error, row.notify_next_at),
        before=before,
    )


def _snoozed(item: Item, now: dt.datetime) -> bool:
    return item.snoozed_until is not None and item.snoozed_until > now
