"""One search over all that a person may see: teams, tasks, agents, what was asked, and what happened."""

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Case, Q, QuerySet, Value, When

from tasks_app.domain.ids import parse_task_label, task_label
from tasks_app.domain.statuses import DecisionKind, DecisionStatus
from tasks_app.domain.text import one_line
from tasks_app.models import Agent, Decision, Task, Team
from tasks_app.selectors import history
from tasks_app.selectors.history import Filter, HistoryPage
from tasks_app.selectors.states import with_state

EACH = 20
"""So many of each kind are returned at most."""
EVENTS = 10
MAX_WORDS = 8
TITLE = 200
T = TypeVar("T")


@dataclass(frozen=True)
class Some(Generic[T]):
    """The first of what was found, and whether there is more."""

    items: tuple[T, ...] = ()
    more: bool = False


@dataclass(frozen=True)
class FoundTask:
    """A task; `state` is derived."""

    pk: int
    label: str
    title: str
    state: str
    team: str


@dataclass(frozen=True)
class FoundAgent:
    """An agent."""

    pk: int
    name: str
    role: str
    team: str


@dataclass(frozen=True)
class FoundTeam:
    """A team, archived ones too."""

    slug: str
    name: str
    goal: str
    archived: bool


@dataclass(frozen=True)
class FoundDecision:
    """A request to the lead, whatever became of it."""

    id: str
    kind: DecisionKind
    open: bool
    title: str
    opened_at: dt.datetime
    team: str


@dataclass(frozen=True)
class Found:
    """What was found, by kind."""

    tasks: Some[FoundTask]
    agents: Some[FoundAgent]
    teams: Some[FoundTeam]
    decisions: Some[FoundDecision]
    events: HistoryPage

    @property
    def any(self) -> bool:
        """Whether anything was found."""
        return any(some.items for some in (self.tasks, self.agents, self.teams, self.decisions)) or bool(self.events.entries)


def find(team_ids: Collection[int], text: str) -> Found:
    """Return what of these teams holds every word of a line of text, case aside, or is the task of that number.

    Events are searched in the sentence that tells them, the latest `history.SCAN` of them. At most eleven queries.
    """
    words = text.split()[:MAX_WORDS]
    number = parse_task_label(text)
    alone = number if not text.isdigit() else None  # a plain number may be anything in a sentence
    return Found(
        tasks=_tasks(team_ids, words, number),
        agents=_agents(team_ids, words),
        teams=_teams(team_ids, words),
        decisions=_decisions(team_ids, words, number),
        events=history.page(
            team_ids, Filter(task=alone) if alone is not None else Filter(text=text), limit=EVENTS, chunk=history.SCAN
        ),
    )


def _tasks(team_ids: Collection[int], words: Sequence[str], number: int | None) -> Some[FoundTask]:
    where = _says(words, "title", "description")
    named = Case(When(number=-1 if number is None else number, then=Value(0)), default=Value(1))
    rows = with_state(Task.objects.filter(where | Q(number=number) if number is not None else where, team_id__in=team_ids))
    fields = rows.order_by(named, "-pk").values_list("pk", "number", "title", "state", "team__name")
    return _some([FoundTask(pk, task_label(n), title, state, team) for pk, n, title, state, team in _first(fields)])


def _agents(team_ids: Collection[int], words: Sequence[str]) -> Some[FoundAgent]:
    rows = Agent.objects.filter(_says(words, "name", "role"), team_id__in=team_ids).order_by("name", "pk")
    return _some([FoundAgent(*row) for row in _first(rows.values_list("pk", "name", "role", "team__name"))])


def _teams(team_ids: Collection[int], words: Sequence[str]) -> Some[FoundTeam]:
    rows = Team.objects.filter(_says(words, "name", "slug", "goal"), pk__in=team_ids).order_by("name", "pk")
    found = _first(rows.values_list("slug", "name", "goal", "archived_at"))
    return _some([FoundTeam(slug, name, one_line(goal, TITLE), at is not None) for slug, name, goal, at in found])


def _decisions(team_ids: Collection[int], words: Sequence[str], number: int | None) -> Some[FoundDecision]:
    where = _says(words, "title")
    if number is not None:
        where |= Q(task__number=number)
    open_first = Case(When(status=DecisionStatus.OPEN.value, then=Value(0)), default=Value(1))
    rows = Decision.objects.filter(where, team_id__in=team_ids).order_by(open_first, "-opened_at", "pk")
    found = _first(rows.values_list("pk", "kind", "status", "title", "opened_at", "team__name"))
    return _some(
        [
            FoundDecision(pk, DecisionKind(kind), status == DecisionStatus.OPEN, one_line(title, TITLE), at, team)
            for pk, kind, status, title, at, team in found
        ]
    )


def _first(rows: "QuerySet[Any, Any]") -> list[Any]:
    return list(rows[: EACH + 1])


def _some(found: list[T]) -> Some[T]:
    return Some(tuple(found[:EACH]), len(found) > EACH)


def _says(words: Sequence[str], *fields: str) -> Q:
    """Every word stands in one of the fields. SQLite folds the case of ASCII only: other words are tried in each case."""
    where = Q()
    for word in words:
        cases = {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}
        said = Q()
        for field in fields:
            for one in sorted(cases):
                said |= Q(**{f"{field}__icontains": one})
        where &= said
    return where
