"""The log of some teams, page by page, newest first, through a filter."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from tasks_app.domain.events import EventKind
from tasks_app.models import Agent, Event
from tasks_app.selectors import journal, sentences
from tasks_app.selectors.journal import Entry

PAGE = 100
CHUNK = 250
SCAN = 1000
"""So many events are read at most for one page of a search: what is searched is the sentence, which no database holds."""
ASKED = (
    EventKind.DECISION_OPENED,
    EventKind.DECISION_ANSWERED,
    EventKind.DECISION_WITHDRAWN,
    EventKind.DECISION_EXPIRED,
)


@dataclass(frozen=True)
class Filter:
    """What of the log is wanted; nothing given: all but the many steps of attempts."""

    task: int | None = None  # its number in the team
    agent: str = ""
    kind: str = ""  # a kind of event, or the part before its dot
    decisions: bool = False  # only what was asked of the lead, and what people decided
    steps: bool = False
    text: str = ""  # each of its words must stand in the sentence


@dataclass(frozen=True)
class HistoryPage:
    """Some events, and the pk before which the earlier ones begin (None: there are none).

    `unfinished`: the search has looked at `SCAN` events and not yet at the earlier ones.
    """

    entries: tuple[Entry, ...]
    earlier: int | None
    unfinished: bool = False


def page(
    team_ids: Collection[int], wanted: Filter = Filter(), *, before: int | None = None, limit: int = PAGE, chunk: int = 0
) -> HistoryPage:
    """Return the latest events of these teams, `before` an event's pk; at most seven queries, for a search per `chunk` events.

    `chunk` 0: `CHUNK`.
    """
    found = _matching(team_ids, wanted)
    if wanted.text:
        return _search(found, wanted.text.casefold().split(), before, limit, chunk or CHUNK)
    rows = _rows(found, before, limit + 1)
    return HistoryPage(tuple(journal.named(rows[:limit])), rows[limit - 1].pk if len(rows) > limit else None)


def agent_names(team_ids: Collection[int]) -> Sequence[str]:
    """Return the names of the agents of these teams, each once, by name; one query."""
    return list(Agent.objects.filter(team_id__in=team_ids).order_by("name").values_list("name", flat=True).distinct())


def _matching(team_ids: Collection[int], wanted: Filter) -> QuerySet[Event]:
    where = Q(team_id__in=team_ids)
    if wanted.kind:
        where &= Q(kind=wanted.kind) | Q(kind__startswith=f"{wanted.kind}.")
    if not wanted.steps and wanted.kind != EventKind.RUN_STEPS:
        where &= ~Q(kind=EventKind.RUN_STEPS.value)
    if wanted.task is not None:
        where &= Q(task_number=wanted.task)
    if wanted.decisions:
        by_people = Q(actor__startswith="user:") & ~Q(kind=EventKind.TASK_CREATED.value)  # a plan makes many at once
        where &= Q(kind__in=[kind.value for kind in ASKED]) | by_people
    if wanted.agent:
        mine = Agent.objects.filter(team_id__in=team_ids, name__iexact=wanted.agent).values("pk")
        where &= Q(agent_id__in=mine) | Q(actor__iexact=f"agent:{wanted.agent}")
    return Event.objects.filter(where).defer("keys").order_by("-pk")


def _rows(found: QuerySet[Event], before: int | None, limit: int) -> list[Event]:
    return list((found if before is None else found.filter(pk__lt=before))[:limit])


def _search(found: QuerySet[Event], words: Sequence[str], before: int | None, limit: int, chunk: int) -> HistoryPage:
    """Read chunk by chunk and keep what says all the words, until the page is full or `SCAN` events were read."""
    kept: list[Entry] = []
    for _ in range(SCAN // chunk):
        rows = _rows(found, before, chunk)
        for entry in journal.named(rows):
            before = entry.pk
            said = sentences.text(entry).casefold()
            if all(word in said for word in words):
                kept.append(entry)
            if len(kept) == limit:
                return HistoryPage(tuple(kept), before)
        if len(rows) < chunk:
            return HistoryPage(tuple(kept), None)
    return HistoryPage(tuple(kept), before, unfinished=True)
