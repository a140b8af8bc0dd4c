"""The files of an attempt, as it begins and as it ends: with them its dossier is complete."""

from typing import Any

from tasks_app.domain.statuses import Reason
from tasks_app.execution import clean_start
from tasks_app.selectors import runs as reading
from tasks_app.services import beginnings, differences, dossiers, runs, snapshots


def make(run: Any, *, reason: Reason, error: str) -> dict[str, Any]:
    """Return what is known of a run that a worker has (`services/dossiers`), with the snapshot of the files and their diff."""
    return dossiers.of(run, reason=reason, error=error) | _files(run)


def of_completed(run: Any) -> dict[str, Any]:
    """Return what is kept of a completed attempt: what it changed, and the files as it left them, in case it is opened again."""
    return {"attempt": run.attempt} | _files(run)


def _files(run: Any) -> dict[str, Any]:
    """The snapshot of the files now, and what is different since the attempt began, but for what only others wrote meanwhile."""
    slug, workspace = run.team.slug, run.team.workspace
    now = snapshots.take(slug, workspace)
    diff = differences.diff(slug, run.workspace_commit, now)
    if diff["files"] and (others := snapshots.within(workspace, reading.written_beside(run))):
        diff = differences.diff(slug, run.workspace_commit, now, without=others)
    return {"diff": diff, snapshots.END: now}


def keep_files(run_id: str) -> str:
    """Keep the workspace's files as they are now; returns the snapshot's id, "" where there is none."""
    team = runs.get(run_id).team
    return snapshots.take(team.slug, team.workspace)


def begin(run_id: str, fence: int) -> str:
    """At the start of an attempt: put back what earlier ones changed if it starts clean, then remember where it starts.

    Returns the snapshot that was made now; "" in a later life, or where there is none.
    """
    run = runs.get(run_id)
    if run.workspace_commit:
        return ""
    told = clean_start.put_back(run) if run.start_from == "clean" else ""
    commit = snapshots.take(run.team.slug, run.team.workspace)
    if commit or told:
        beginnings.remember(run_id, fence, commit=commit, told=told)
    return commit
