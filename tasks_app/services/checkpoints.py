"""Checkpoints: named snapshots of a team from which work can resume."""

from django.db import transaction
from django.utils import timezone

from tasks_app.domain.errors import Invalid
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import CHECKPOINT_PREFIX, new_id
from tasks_app.domain.text import clean, cut
from tasks_app.models import Agent, Checkpoint, Run, Task
from tasks_app.selectors import context
from tasks_app.services import events, keys

SCHEMA = 1


@transaction.atomic
def save(team_id: int, *, name: str, by: str, run_id: str = "") -> Checkpoint:
    """Keep task states, shared context, each agent's session and where each run stands, as of one moment."""
    label = cut(clean(name).strip(), 120)
    if not label:
        raise Invalid("The checkpoint needs a name.", field="name")
    events.lock(team_id)
    data = {
        "schema": SCHEMA,
        "tasks": list(Task.objects.filter(team_id=team_id).values("number", "status", "attempts", "output")),
        "context": context.snapshot(team_id),
        "agents": list(Agent.objects.filter(team_id=team_id).values("name", "session_id")),
        "runs": list(Run.objects.filter(team_id=team_id).values("id", "status", "session_id", "last_seq", "workspace_commit")),
    }
    checkpoint = Checkpoint.objects.create(
        pk=new_id(CHECKPOINT_PREFIX), team_id=team_id, run_id=run_id, name=label, by=by[:80], data=data, at=timezone.now()
    )
    events.append(
        team_id,
        EventKind.CHECKPOINT_SAVED,
        actor=by,
        keys=(keys.team(team_id),),
        run_id=run_id,
        data={"name": label, "checkpoint": checkpoint.pk},
    )
    return checkpoint
