"""What waits for a team's lead agent, and what it has decided: for its tools, the page and the terminal."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tasks_app.decision_kinds import registry
from tasks_app.domain import asked
from tasks_app.domain.deciders import PREFIX, TURN, Decider, Settings, is_lead
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import task_label
from tasks_app.domain.statuses import AgentStatus, DecisionStatus
from tasks_app.domain.text import cut
from tasks_app.models import Agent, Decision, Event, Run, Task, Team

SHOWN = 6_000
"""Characters of one request in what the lead agent reads."""
MOVES = (EventKind.TASK_REASSIGNED.value, EventKind.TASK_SPLIT.value)
MOST = 50
"""Entries of one list in it."""
HIDDEN = ("action",)
"""What an option carries for the system alone."""


@dataclass(frozen=True)
class LeadAgent:
    """The lead agent of a team."""

    pk: int
    name: str
    active: bool
    working: bool


@dataclass(frozen=True)
class Done:
    """One thing that the lead agent decided or handed on."""

    at: dt.datetime
    decision: str
    title: str
    words: str  # what it decided, or why it handed it on
    task: str


@dataclass(frozen=True)
class Overview:
    """The lead agent's page: who, what waits for it, how often it was woken in the last hour, and what it did."""

    agent: LeadAgent | None
    settings: Settings
    waiting: int
    turns: int
    done: tuple[Done, ...]
    handed: tuple[Done, ...]
    moved: tuple[Done, ...]  # tasks that it gave out or split; `decision` is empty


def settings(team_id: int) -> Settings:
    """Return who decides what in a team."""
    return Settings.of(Team.objects.values_list("decides", flat=True).get(pk=team_id))


def agent_of(team_id: int) -> LeadAgent | None:
    """Return the team's lead agent, stopped or not."""
    found = next((one for one in Agent.objects.filter(team_id=team_id) if is_lead(one.role)), None)
    if found is None:
        return None
    working = Run.objects.filter(agent=found, task__type=TURN, status__in=("pending", "running")).exists()
    return LeadAgent(found.pk, found.name, found.status == AgentStatus.ACTIVE.value, working)


def waiting(team_id: int) -> list[dict[str, Any]]:
    """Return the open requests of the lead agent as its tool shows them, oldest first."""
    rows = Decision.objects.select_related("task", "agent").filter(
        team_id=team_id, status=DecisionStatus.OPEN.value, decider=Decider.LEAD.value
    )
    return [_shown(row) for row in rows.order_by("opened_at", "pk")]


def numbered(team_id: int) -> dict[str, Any]:
    """Return what waits as words for a rehearsal script: `asked1`, `version1`, `seen1`, `asked2`, …"""
    named = (("asked", "decision"), ("version", "version"), ("seen", "seen"))
    return {f"{word}{n}": one[name] for n, one in enumerate(waiting(team_id), start=1) for word, name in named}


def _shown(row: Decision) -> dict[str, Any]:
    return {
        "decision": row.pk,
        "kind": row.kind,
        "title": row.title,
        "task": task_label(row.task.number) if row.task else "",
        "agent": row.agent.name if row.agent else "",
        "choices": list(registry.get(row.kind).CHOICES),
        "asked": {name: _cut(value) for name, value in row.payload.items() if name != "cause"},
        "warnings": list(asked.warnings(row.payload)),
        "version": row.version,
        "seen": row.payload_hash[:16],
    }


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        more = len(value) - SHOWN
        return f"{cut(value, SHOWN)} {asked.left_out(more)}" if more > 0 else value
    if isinstance(value, list):
        more = len(value) - MOST
        return [*map(_cut, value[:MOST]), *([f"[{more:,} more are not shown here]"] if more > 0 else [])]
    if isinstance(value, Mapping):
        return {name: _cut(one) for name, one in value.items() if name not in HIDDEN}
    return value


def full_hash(decision_id: str, seen: str) -> str:
    """Return the hash of what a request shows where it begins with `seen`; else `seen` itself, which fits nothing."""
    found = Decision.objects.filter(pk=decision_id).values_list("payload_hash", flat=True).first() or ""
    return found if len(seen) >= 16 and found.startswith(seen) else seen


def overview(team_id: int, *, limit: int = 20) -> Overview:
    """Return what the page of the lead agent shows; nine queries."""
    rows = Decision.objects.select_related("task").filter(team_id=team_id)
    decided = rows.filter(answered_by__startswith=PREFIX).order_by("-answered_at")[:limit]
    handed = rows.exclude(handed_why="").order_by("-opened_at")[:limit]
    open_ones = rows.filter(status=DecisionStatus.OPEN.value, decider=Decider.LEAD.value)
    agent = agent_of(team_id)
    return Overview(
        agent=agent,
        settings=settings(team_id),
        waiting=open_ones.count(),
        turns=Task.objects.filter(team_id=team_id, type=TURN).count(),
        done=tuple(_done(row, row.answered_at or row.opened_at, _decided(row)) for row in decided),
        handed=tuple(_done(row, row.opened_at, row.handed_why) for row in handed),
        moved=_moved(team_id, agent.name, limit) if agent else (),
    )


def _moved(team_id: int, name: str, limit: int) -> tuple[Done, ...]:
    rows = list(Event.objects.filter(team_id=team_id, kind__in=MOVES, actor=f"agent:{name}").order_by("-seq")[:limit])
    numbers = {row.task_number for row in rows if row.task_number}
    titles = dict(Task.objects.filter(team_id=team_id, number__in=numbers).values_list("number", "title"))
    return tuple(
        Done(row.at, "", titles.get(row.task_number, ""), _move(row.data), task_label(row.task_number))
        for row in rows
        if row.task_number
    )


def _move(data: Mapping[str, Any]) -> str:
    parts = data.get("parts")
    said = f"split into {parts if isinstance(parts, str) else ', '.join(parts)}" if parts else f"given to {data.get('to')}"
    return f"{said}: {data['guidance']}" if data.get("guidance") else said


def _done(row: Decision, at: dt.datetime, words: str) -> Done:
    return Done(at, row.pk, row.title, words, task_label(row.task.number) if row.task else "")


def _decided(row: Decision) -> str:
    chosen = str(row.answer.get("option") or row.answer.get("text") or "")
    answers = row.answer.get("answers") or {}
    said = chosen or ", ".join(str(one) for one in answers.values())
    word = registry.choice_word(row.choice)
    return f"{word}: {said}" if said else word
