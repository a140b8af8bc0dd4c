"""The event log: one line per change, gapless per team, in the transaction of the change. The lowest service."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from tasks_app import wake
from tasks_app.domain.errors import NotFound
from tasks_app.domain.events import EventKind
from tasks_app.domain.text import clean_json, mask_json
from tasks_app.models import Event, Team
from tasks_app.services import rows

SYSTEM = "system"
_gathered: ContextVar[tuple[int, list["Line"]] | None] = ContextVar("gathered", default=None)
"""The team whose events `together` gathers right now, and those."""


@dataclass(frozen=True)
class Line:
    """An event that is to be appended; `keys` name the blocks of the pages that it makes stale."""

    kind: EventKind
    actor: str = SYSTEM
    keys: Iterable[str] = ()
    task_number: int | None = None
    run_id: str = ""
    agent_id: int | None = None
    decision_id: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def append(
    team_id: int,
    kind: EventKind,
    *,
    actor: str = SYSTEM,
    keys: Iterable[str] = (),
    task_number: int | None = None,
    run_id: str = "",
    agent_id: int | None = None,
    decision_id: str = "",
    data: Mapping[str, Any] | None = None,
) -> None:
    """Append one event; wakes the browsers after commit.

    Must be called inside the transaction of the change: the counter row stays locked until the commit, so numbers are
    gapless and a reader that has seen N has seen everything before it.
    """
    append_all(team_id, [Line(kind, actor, keys, task_number, run_id, agent_id, decision_id, data or {})])


def append_all(team_id: int, lines: Sequence[Line], *, team: rows.Changes | None = None) -> None:
    """`append` of several events in their order, by two statements and one hint. `team`: what changes in the team's row, too."""
    _must_be_atomic()
    gathered = _gathered.get()
    if gathered and gathered[0] == team_id and team is None:
        gathered[1].extend(lines)
        return
    last = _count(team_id, len(lines), team or rows.Changes())
    made = [_event(team_id, seq, line) for seq, line in enumerate(lines, start=last - len(lines) + 1)]
    rows.add(made)
    names = sorted({name for event in made for name in event.keys})
    transaction.on_commit(partial(wake.browsers, team_id, last, names), robust=True)


@contextmanager
def together(team_id: int) -> Iterator[None]:
    """Append what the team's changes in here say at the end of it, by two statements, in the order in which it was said.

    The caller holds the team's lock. Nothing in here reads events, changes the team's row with one, or undoes a part and goes on.
    Where it raises nothing is appended: its transaction is to be undone.
    """
    lines: list[Line] = []
    token = _gathered.set((team_id, lines))
    try:
        yield
    finally:
        _gathered.reset(token)
    if lines:
        append_all(team_id, lines)


def _event(team_id: int, seq: int, line: Line) -> Event:
    return Event(
        team_id=team_id,
        seq=seq,
        kind=line.kind.value,
        at=Now(),
        actor=line.actor[:80],
        task_number=line.task_number,
        run_id=line.run_id,
        agent_id=line.agent_id,
        decision_id=line.decision_id,
        # whether steps change a team's figures, who appends them knows
        keys=sorted({*line.keys} | (set() if line.kind is EventKind.RUN_STEPS else {f"team:{team_id}"})),
        data=mask_json(clean_json(dict(line.data))),
    )


def _count(team_id: int, lines: int, team: rows.Changes) -> int:
    """Count the events, by the one statement that changes the team's row: each change of each run needs it."""
    changes = rows.Changes(team.put, {"last_seq": lines, **team.add})
    counted = rows.change(Team, {"id": team_id}, changes, returning="last_seq")
    if counted is None:
        raise NotFound("This team does not exist any more.")
    return int(counted)


def _must_be_atomic() -> None:
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("An event must commit together with its change.")


def lock(team_id: int) -> Team:
    """Return the team with its row locked until the commit: whoever decides by counting locks first.

    SQLite locks the whole database at the start of a transaction (IMMEDIATE); PostgreSQL locks the row. The team comes
    before every other row: one order of locks, no deadlock.
    """
    _must_be_atomic()
    team = rows.team_locked(team_id)
    if team is None:
        raise NotFound("This team does not exist any more.")
    return team
