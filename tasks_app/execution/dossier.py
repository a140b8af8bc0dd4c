"""The dossier of a failed run: what the next agent and the lead need to know of it."""

from typing import Any

from tasks_app.domain.statuses import Reason
from tasks_app.execution import clean_start
from tasks_app.selectors import runs as reading
from tasks_app.services import beginnings, differences, runs, snapshots, worktime


def make(run: Any, *, reason: Reason, error: str) -> dict[str, Any]:
    """Return reason, error, approaches (the agent's own words), last steps, diff of the workspace, usage and working time."""
    report = run.report or {}
    now = snapshots.take(run.team.slug, run.team.workspace)
    return {
        "attempt": run.attempt,
        "agent": run.agent.name,
        "reason": reason.value,
        "error": report.get("failure") or error,
        "approaches": report.get("approaches") or [],
        "last_steps": reading.last_steps(run.pk),
        "start": run.dossier.get("start", ""),
        snapshots.END: now,
        "diff": differences.diff(run.team.slug, run.workspace_commit, now),
        "evidence": report.get("evidence") or {},
        "criteria_met": sorted((report.get("evidence") or {}).keys()),
        "proofs": run.proofs,
        "tokens": run.input_tokens + run.cache_creation_tokens + run.cache_read_tokens + run.output_tokens,
        "cost_usd": str(run.cost_usd) if run.cost_usd is not None else None,
        "cost_partial": run.cost_partial or run.cost_due,
        "seconds": round(worktime.so_far_s(run)),
        "guidance": run.guidance,
    }


def of_completed(run: Any) -> dict[str, Any]:
    """Return what is kept of a completed attempt: what it changed, and the files as it left them, in case it is opened again."""
    now = snapshots.take(run.team.slug, run.team.workspace)
    diff = differences.diff(run.team.slug, run.workspace_commit, now)
    return {"attempt": run.attempt, "diff": diff, snapshots.END: now}


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
