"""Checkpoints as plain JSON: what `manage.py checkpoint --json` and the API print."""

from typing import Any

from tasks_app.domain.checkpoint_diff import Difference
from tasks_app.selectors.checkpoints import Overview, Saved
from tasks_app.services.restores import Preview, Restored


def overview(found: Overview) -> dict[str, Any]:
    """Return all that work can go on from."""
    return {
        "seq": found.seq,
        "putting_back": found.putting_back,
        "resumable": [{"what": one.what, "why": one.why, "then": one.then} for one in found.resumable],
        "checkpoints": [_saved(one) for one in found.checkpoints],
    }


def _saved(one: Saved) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "by": one.by,
        "automatic": one.automatic,
        "at": one.at.isoformat(),
        "run": one.run_id or None,
        "restorable": not one.problem,
        "words": one.words,
    }


def preview(found: Preview) -> dict[str, Any]:
    """Return what restoring would do, as of event `seq`."""
    return {
        "id": found.checkpoint.pk,
        "name": found.checkpoint.name,
        "seq": found.seq,
        "refused": found.refused or None,
        "goes_on": found.goes_on,
        "words": found.change.words,
        **_change(found.change),
        "files": [{"path": path, "change": how} for how, path in found.files],
    }


def _change(change: Difference) -> dict[str, Any]:
    return {
        "tasks": [{"task": t.label, "before": t.before, "after": t.target.status, "words": t.words} for t in change.tasks],
        "context": [{"name": one.name, "change": one.turn} for one in change.entries],
        "sessions": [{"agent": one.agent, "change": one.turn} for one in change.sessions],
        "workspace": change.workspace or None,
    }


def restored(done: Restored) -> dict[str, Any]:
    """Return what came of it."""
    return {"restored": done.name, "words": done.words, "safety": done.safety}
