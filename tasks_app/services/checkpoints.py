"""Checkpoints: named snapshots of a team from which work can resume. `restores` brings one back."""

import logging
from datetime import timedelta
from typing import Final

from django.db import connection, transaction

from tasks_app.domain import checkpoint
from tasks_app.domain.errors import DomainError, Invalid, NotFound, TooMany
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import CHECKPOINT_PREFIX, new_id
from tasks_app.domain.text import clean, cut
from tasks_app.models import Checkpoint, CheckpointBlob, ContextBlob, Event, Team
from tasks_app.selectors import checkpoints as reading
from tasks_app.services import blobs, clock, events, idempotency, keys, snapshots

logger = logging.getLogger(__name__)
NAME_LIMIT: Final = 120
MOST: Final = 200
"""Checkpoints that people and agents may keep of a team."""
KEPT: Final = 20
"""Automatic checkpoints of a team that are kept, the newest."""
APART_S: Final = 60.0
"""After a completed task an automatic checkpoint is saved only where the last one is at least so old."""


def freeze(team_id: int) -> str:
    """Keep the files as they are and return the snapshot's id ("": there is no git). It takes time: never under the lock."""
    found = Team.objects.filter(pk=team_id).values_list("slug", "workspace").first()
    return snapshots.take(*found) if found else ""


def save(team_id: int, *, name: str, by: str, run_id: str = "", automatic: bool = False, idempotency_key: str = "") -> Checkpoint:
    """Keep task states, shared context, each agent's place in its session and the files. Raises `Invalid`, `TooMany`."""
    _label(name)
    if known := idempotency.made(idempotency_key):
        return reading.get(team_id, known)
    files = freeze(team_id)
    return idempotency.once(
        idempotency_key,
        lambda known: reading.get(team_id, known),
        lambda: keep(team_id, name=name, by=by, run_id=run_id, automatic=automatic, workspace=files),
    )


@transaction.atomic
def keep(
    team_id: int, *, name: str, by: str, workspace: str, run_id: str = "", automatic: bool = False, spare: str = ""
) -> Checkpoint:
    """`save` for a caller that has frozen the files already: `workspace` is their snapshot. `spare` is not dropped for it."""
    label = _label(name)
    team = events.lock(team_id)
    if not automatic and Checkpoint.objects.filter(team=team, automatic=False).count() >= MOST:
        raise TooMany(f"The team has {MOST} checkpoints already. Delete one that is not needed any more.", field="name")
    content = reading.capture(team, workspace=workspace)
    saved = Checkpoint.objects.create(
        pk=new_id(CHECKPOINT_PREFIX),
        team=team,
        run_id=run_id,
        name=label,
        by=by[:80],
        automatic=automatic,
        data=checkpoint.sealed(content),
        at=clock.now(),
    )
    large = [one.digest for one in content.context if one.json_text is None]
    found = ContextBlob.objects.filter(team=team, digest__in=large)
    CheckpointBlob.objects.bulk_create([CheckpointBlob(checkpoint=saved, blob=blob) for blob in found])
    data = {"name": label, "checkpoint": saved.pk}
    events.append(team_id, EventKind.CHECKPOINT_SAVED, actor=by, keys=(keys.checkpoints(team_id),), run_id=run_id, data=data)
    if automatic:
        old = Checkpoint.objects.filter(team=team, automatic=True).order_by("-at", "-pk")[KEPT:]
        _drop([one for one in old if one.pk != spare])
    return saved


def _label(name: str) -> str:
    label = cut(clean(name).strip(), NAME_LIMIT)
    if not label:
        raise Invalid("The checkpoint needs a name.", field="name")
    return label


def _drop(old: list[Checkpoint]) -> None:
    """Remove checkpoints, and the large values that nothing else holds."""
    unused = list(CheckpointBlob.objects.filter(checkpoint__in=old).values_list("blob_id", flat=True))
    Checkpoint.objects.filter(pk__in=[one.pk for one in old]).delete()
    blobs.drop_unused(unused)


@transaction.atomic
def delete(team_id: int, checkpoint_id: str, *, actor: str) -> str:
    """Remove a checkpoint; returns its name. The team stays as it is. Raises `NotFound`."""
    events.lock(team_id)
    found = Checkpoint.objects.filter(pk=checkpoint_id, team_id=team_id).first()
    if found is None:
        raise NotFound("This team has no such checkpoint, or it was removed.", field="checkpoint")
    _drop([found])
    data = {"name": found.name}
    events.append(team_id, EventKind.CHECKPOINT_DELETED, actor=actor, keys=(keys.checkpoints(team_id),), data=data)
    return found.name


def at_boundary(team_id: int, *, name: str, always: bool = False, workspace: str | None = None) -> Checkpoint | None:
    """Save an automatic checkpoint, where there is something new in it; what goes wrong is logged and stops nobody.

    Not where the last one is younger than `APART_S` (unless `always`), or nothing has happened since. `workspace`: a snapshot
    of the files that the caller has made just now.
    """
    try:
        last = Checkpoint.objects.filter(team_id=team_id).order_by("-at", "-pk").defer("data").first()
        if last is not None and not _is_due(last, always=always):
            return None
        kept = freeze(team_id) if workspace is None else workspace
        return keep(team_id, name=name, by=events.SYSTEM, automatic=True, workspace=kept)
    except DomainError as refused:
        logger.warning("team %s: no checkpoint at “%s”: %s", team_id, name, refused.message)
    except Exception:
        if connection.needs_rollback:
            raise  # nothing of the caller's transaction can be stored any more: it is to know
        logger.exception("team %s: no checkpoint at “%s”", team_id, name)
    return None


def _is_due(last: Checkpoint, *, always: bool) -> bool:
    if not always and last.automatic and clock.now() - last.at < timedelta(seconds=APART_S):
        return False
    newest = Event.objects.filter(team_id=last.team_id).order_by("-seq").values_list("kind", flat=True).first()
    return newest != EventKind.CHECKPOINT_SAVED.value
