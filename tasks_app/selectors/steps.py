"""The transcript of a run in windows: never the whole of it at once."""

import datetime as dt
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Min, Q, TextField
from django.db.models.functions import Cast

from tasks_app.domain.statuses import RunStatus, StepKind
from tasks_app.models import Run, Step

WINDOW = 200
MAX_FIND = 80
"""So many characters of what is looked for are taken."""
FILTERS: Mapping[str, Q] = {
    "": Q(),
    "text": Q(kind__in=[StepKind.SAID.value, StepKind.THOUGHT.value, StepKind.PROMPT.value, StepKind.RESULT.value]),
    "tools": Q(kind__in=[StepKind.TOOL_CALL.value, StepKind.TOOL_RESULT.value, StepKind.SUBTASK.value]),
    "errors": Q(data__is_error=True) | Q(kind=StepKind.NOTICE.value),
}


@dataclass(frozen=True)
class StepLine:
    """One step; `tool` is set on calls and, from its call, on results."""

    seq: int
    kind: StepKind
    text: str
    data: Mapping[str, Any]
    tool: str
    nested: bool  # of a sub-agent
    failed: bool
    at: dt.datetime


@dataclass(frozen=True)
class Window:
    """Some consecutive steps of a run."""

    lines: tuple[StepLine, ...]
    earlier: int | None  # the seq before which earlier steps stand; None: this is the beginning


@dataclass(frozen=True)
class RunHead:
    """A run as the head of its transcript."""

    id: str
    attempt: int
    status: RunStatus
    task_pk: int
    task_number: int
    task_title: str
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    open: bool


def heads(agent_id: int, *, limit: int = 30) -> list[RunHead]:
    """Return the latest runs of an agent, newest first; one query."""
    rows = Run.objects.filter(agent_id=agent_id).select_related("task").order_by("-created_at", "-pk")[:limit]
    return [
        RunHead(
            id=row.pk,
            attempt=row.attempt,
            status=RunStatus(row.status),
            task_pk=row.task_id,
            task_number=row.task.number,
            task_title=row.task.title,
            started_at=row.started_at,
            ended_at=row.ended_at,
            open=row.status in (RunStatus.PENDING, RunStatus.RUNNING),
        )
        for row in rows
    ]


def where(run_id: str) -> tuple[int, int, int] | None:
    """Return (team, task, agent) of a run, or None."""
    return Run.objects.filter(pk=run_id).values_list("team_id", "task_id", "agent_id").first()


def calls(run_id: str) -> int:
    """Return how many tools a run has called."""
    return Step.objects.filter(run_id=run_id, kind=StepKind.TOOL_CALL.value).count()


def window(run_id: str, *, before: int | None = None, only: str = "", find: str = "", limit: int = WINDOW) -> Window:
    """Return the last `limit` steps (before step `before`) that pass `only` and hold every word of `find`; two queries.

    Silent steps (they carry only figures) are left out. What a tool was called with counts as words of its step.
    """
    found = Step.objects.filter(FILTERS.get(only, Q()), run_id=run_id).exclude(data__has_key="silent")
    for word in find.split():
        found = found.annotate(given=Cast("data", TextField())).filter(Q(text__icontains=word) | _given(word))
    rows = list((found.filter(seq__lt=before) if before is not None else found).order_by("-seq")[: limit + 1])
    more, rows = len(rows) > limit, list(reversed(rows[:limit]))
    tools = _tools(run_id, [row.tool_use_id for row in rows if row.kind == StepKind.TOOL_RESULT and row.tool_use_id])
    lines = tuple(_line(row, tools) for row in rows)
    return Window(lines, rows[0].seq if more else None)


def _given(word: str) -> Q:
    """A word as it stands in stored JSON: quotes have a stroke before them, and SQLite has \\uXXXX for all that is not ASCII."""
    forms = {json.dumps(word, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    return reduce(or_, (Q(given__icontains=form) for form in sorted(forms)))


def last_seq(run_id: str) -> int:
    """Return the number of the newest step of a run; 0 before the first."""
    return Run.objects.filter(pk=run_id).values_list("last_seq", flat=True).first() or 0


def oldest_seq(run_id: str) -> int | None:
    """Return the number of the oldest step that is kept; None where there is none (any more)."""
    return Step.objects.filter(run_id=run_id).aggregate(seq=Min("seq"))["seq"]  # type: ignore[no-any-return]


def between(run_id: str, spans: Collection[tuple[int, int]]) -> dict[tuple[int, int], tuple[StepLine, ...]]:
    """Return the steps of a run by spans of numbers (both ends included), silent ones left out; two queries."""
    if not spans:
        return {}
    low, high = min(first for first, _ in spans), max(last for _, last in spans)
    rows = list(Step.objects.filter(run_id=run_id, seq__gte=low, seq__lte=high).exclude(data__has_key="silent").order_by("seq"))
    tools = _tools(run_id, [row.tool_use_id for row in rows if row.kind == StepKind.TOOL_RESULT and row.tool_use_id])
    lines = [_line(row, tools) for row in rows]
    return {(first, last): tuple(line for line in lines if first <= line.seq <= last) for first, last in spans}


def _tools(run_id: str, ids: list[str]) -> Mapping[str, str]:
    calls = Step.objects.filter(run_id=run_id, kind=StepKind.TOOL_CALL.value, tool_use_id__in=ids)
    return dict(calls.values_list("tool_use_id", "text"))


def _line(row: Step, tools: Mapping[str, str]) -> StepLine:
    data = row.data if isinstance(row.data, dict) else {}
    return StepLine(
        seq=row.seq,
        kind=StepKind(row.kind),
        text=row.text,
        data=data,
        tool=row.text if row.kind == StepKind.TOOL_CALL else tools.get(row.tool_use_id, ""),
        nested=bool(row.parent_tool_use_id),
        failed=bool(data.get("is_error")),
        at=row.at,
    )
