"""The event log: one line per change, gapless per team, in the transaction of the change. The lowest service."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.db.models.functions import Now

from tasks_app import wake
from tasks_app.domain.errors import LeaseLost, NotFound
from tasks_app.domain.events import EventKind
from tasks_app.domain.text import clean_json, mask_json
from tasks_app.models import Event, Team
from tasks_app.models.teams import LARGE

SYSTEM = "system"


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
) -> int:
    """Append one event and return its sequence number; wakes the browsers after commit.

    Must be called inside the transaction of the change: the counter row stays locked until the commit, so numbers are
    gapless and a reader that has seen N has seen everything before it.
    """
    _must_be_atomic()
    seq = _next_seq(team_id)
    names = sorted(set(keys) | {f"team:{team_id}"})
    Event.objects.create(
        team_id=team_id,
        seq=seq,
        kind=kind.value,
        at=Now(),
        actor=actor[:80],
        task_number=task_number,
        run_id=run_id,
        agent_id=agent_id,
        decision_id=decision_id,
        keys=names,
        data=mask_json(clean_json(dict(data or {}))),
    )
    transaction.on_commit(partial(wake.browsers, team_id, seq, names), robust=True)
    return seq


def _next_seq(team_id: int) -> int:
    """Count the event: one statement, for each change of each run needs it (Django's `update` returns no columns)."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {Team._meta.db_table} SET last_seq = last_seq + 1 WHERE id = %s RETURNING last_seq", [team_id])  # noqa: S608
        counted = cursor.fetchone()
    if counted is None:
        raise NotFound("This team does not exist any more.")
    return int(counted[0])


def _must_be_atomic() -> None:
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("An event must commit together with its change.")


def lock(team_id: int) -> Team:
    """Return the team with its row locked until the commit: whoever decides by counting locks first.

    SQLite locks the whole database at the start of a transaction (IMMEDIATE); PostgreSQL locks the row. The team comes
    before every other row: one order of locks, no deadlock.
    """
    _must_be_atomic()
    team = Team.objects.defer(*LARGE).select_for_update().filter(pk=team_id).first()
    if team is None:
        raise NotFound("This team does not exist any more.")
    return team


def lock_of_run(run_id: str) -> Team:
    """Return the team of a run (id and `rehearsal` alone), locked like `lock`. Raises `LeaseLost` where there is no such run."""
    _must_be_atomic()
    team = Team.objects.only("id", "rehearsal").select_for_update(of=("self",)).filter(runs__pk=run_id).first()
    if team is None:
        raise LeaseLost(f"Run {run_id} does not exist any more.")
    return team
