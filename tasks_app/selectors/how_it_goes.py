"""How a team does, from its stored rows and events: what is counted stands in docs/how-it-goes.md."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from tasks_app.domain import elapsed
from tasks_app.domain.deciders import PREFIX, TURN, Decider
from tasks_app.domain.events import EventKind
from tasks_app.domain.how_it_goes import Begun, Done, Facts, Figures, HandOff, Happened, Tokens, Wait, figures
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, RunStatus, TaskStatus
from tasks_app.models import Decision, Dependency, Event, Message, MessageUsage, Run

CLARIFIES = (DecisionKind.QUESTION, DecisionKind.ESCALATION)
NEW = F("input_tokens") + F("cache_creation_tokens") + F("output_tokens")


@dataclass(frozen=True)
class Day:
    """One day of a team."""

    day: dt.date
    figures: Figures


@dataclass(frozen=True)
class Report:
    """How a team does: on the whole, by day (newest first), and what waits for a person right now."""

    whole: Figures
    days: tuple[Day, ...]
    waiting: int
    waiting_since: dt.datetime | None  # the oldest of them
    log_from: dt.date | None  # the log before has aged out; None: it is whole


class Attempt(NamedTuple):
    """One run, as far as it counts."""

    id: str
    task: int
    number: int
    agent: int
    status: str
    began: dt.datetime
    worked_s: float
    window: tuple[float, float]
    done_at: dt.datetime | None  # of its task, where that is completed
    builds_on: bool  # its task depends on others


def of_team(team_id: int) -> Report:
    """Return how a team does; six queries, whatever its size. Days are those of the installation's time zone."""
    asks: list[Any] = list(
        Decision.objects.filter(team_id=team_id)
        .order_by("opened_at", "pk")
        .values("run_id", "kind", "status", "opened_at", "answered_at", "answered_by", "decider")
    )
    facts = _facts(team_id, asks)
    open_ = [row["opened_at"] for row in asks if row["status"] == DecisionStatus.OPEN and row["decider"] != Decider.LEAD]
    days = tuple(Day(day, figures(mine, day=day)) for day, mine in facts.by_day().items())
    return Report(figures(facts), days, len(open_), min(open_, default=None), facts.log_from)


def _facts(team_id: int, asks: list[Any]) -> Facts:
    attempts = _attempts(team_id)
    asked = Counter(row["run_id"] for row in asks if row["run_id"] and row["kind"] in CLARIFIES)
    sent = list(Message.objects.filter(team_id=team_id).order_by().values_list("created_at", "delivered_run"))
    told = Counter(run for _, run in sent if run)
    by_task: dict[int, list[Attempt]] = {}
    for one in attempts:
        by_task.setdefault(one.task, []).append(one)
    reopened, log_from = _from_log(team_id)
    return Facts(
        begun=[one for mine in by_task.values() for one in _begun(mine)],
        done=[done for mine in by_task.values() if (done := _done(mine, asked, told))],
        asked=[Happened(_day(row["opened_at"])) for row in asks if row["run_id"] and row["kind"] in CLARIFIES],
        reopened=reopened,
        messages=[Happened(_day(at)) for at, _ in sent],
        tokens=_tokens(team_id),
        hand_offs=[given for mine in by_task.values() if (given := _hand_off(mine[0], asked))],
        waits=[
            Wait(_day(row["answered_at"]), (row["answered_at"] - row["opened_at"]).total_seconds())
            for row in asks
            if row["status"] == DecisionStatus.ANSWERED
            and row["answered_at"]
            and not row["answered_by"].startswith(PREFIX)  # the lead agent is no person
        ],
        log_from=log_from,
    )


def _attempts(team_id: int) -> list[Attempt]:
    """The attempts that were begun, by task and number; one query. Turns of the lead agent are no part of the plan."""
    rows: Iterable[Any] = (
        Run.objects.filter(team_id=team_id, started_at__isnull=False)
        .exclude(task__type=TURN)
        .annotate(builds_on=Exists(Dependency.objects.filter(task=OuterRef("task"))))
        .order_by("task_id", "attempt")
        .values_list(
            *("pk", "task_id", "attempt", "agent_id", "status", "started_at", "worked_s"),
            *("task__expected_min", "task__expected_max", "task__status", "task__completed_at", "builds_on"),
            *("task__completed_by", "agent__name"),
        )
    )
    return [Attempt._make((*row[:7], (row[7], row[8]), row[10] if _by_agent(row) else None, row[11])) for row in rows]


def _by_agent(row: tuple[Any, ...]) -> bool:
    """An attempt may still end well after a person has completed its task: that is the person's doing."""
    return bool(row[9] == TaskStatus.COMPLETED and row[12] == row[13])


def _begun(mine: list[Attempt]) -> Iterable[Begun]:
    yield Begun(_day(mine[0].began), again_by_another=False)
    for before, after in pairwise(mine):
        yield Begun(_day(after.began), again_by_another=before.agent != after.agent)


def _done(mine: list[Attempt], asked: Mapping[str, int], told: Mapping[str, int]) -> Done | None:
    """A task counts as done where its last attempt completed it: what people completed by hand says nothing of agents."""
    last = mine[-1]
    if last.done_at is None or last.status != RunStatus.COMPLETED:
        return None
    standing = elapsed.read(last.worked_s, last.window).standing if last.worked_s > 0 else None
    return Done(_day(last.done_at), standing, sum(asked[one.id] for one in mine), sum(told[one.id] for one in mine))


def _hand_off(first: Attempt, asked: Mapping[str, int]) -> HandOff | None:
    """Whether it was clean is known once the attempt asked, or ended by itself without asking."""
    if not first.builds_on or first.number != 1:
        return None
    if asked[first.id]:
        return HandOff(_day(first.began), clean=False)
    ended = first.status in (RunStatus.COMPLETED, RunStatus.FAILED)
    return HandOff(_day(first.began), clean=True) if ended else None


def _tokens(team_id: int) -> list[Tokens]:
    """New tokens by day, and those of responses that coordinate, as all of a turn of the lead agent do; one query."""
    rows = (
        MessageUsage.objects.filter(team_id=team_id)
        .order_by()
        .annotate(day=TruncDate("at"))
        .values("day")
        .annotate(whole=Sum(NEW), part=Sum(NEW, filter=Q(coordinates=True) | Q(run__task__type=TURN)))
    )
    return [Tokens(row["day"], row["whole"] or 0, row["part"] or 0) for row in rows]


def _from_log(team_id: int) -> tuple[list[Happened], dt.date | None]:
    """What was reopened, and the first whole day of a log whose beginning has aged out; two queries."""
    events = Event.objects.filter(team_id=team_id)
    reopened = events.filter(kind=EventKind.TASK_REOPENED.value).values_list("at", flat=True)
    first = events.order_by("seq").values_list("seq", "at").first()
    log_from = _day(first[1]) + dt.timedelta(days=1) if first and first[0] > 1 else None
    return [Happened(_day(at)) for at in reopened], log_from


def _day(at: dt.datetime) -> dt.date:
    return timezone.localdate(at)
