"""How an attempt begins: the files it starts from."""

from django.db import transaction

from tasks_app.domain.events import EventKind
from tasks_app.domain.text import cut
from tasks_app.services import events, runs


@transaction.atomic
def remember(run_id: str, fence: int, *, commit: str, told: str) -> None:
    """Remember the snapshot that an attempt starts from, and what became of earlier changes. Raises `LeaseLost`."""
    if not told:  # one guarded statement needs no lock of the team
        runs.guard(run_id, fence, workspace_commit=commit, dossier={})
        return
    run = runs.get(run_id)
    events.lock(run.team_id)
    runs.guard(run_id, fence, workspace_commit=commit, dossier={"start": told})
    runs.append_event(run, EventKind.NOTE, data={"text": cut(told, 1_000)})
