"""Dossiers: what our rows know of an attempt that ends, for the next agent and the lead."""

from typing import Any

from tasks_app.domain.statuses import Reason
from tasks_app.models import Run
from tasks_app.selectors import runs as reading
from tasks_app.services import worktime


def of(run: Run, *, reason: Reason, error: str) -> dict[str, Any]:
    """Return reason, error, approaches (the agent's own words), last steps, evidence, proofs, usage and working time.

    Empty where no worker ever had it: nothing was tried. What the files say is for who has time to ask git
    (`execution/dossier`): no git here, for this may be called under the team's lock.
    """
    if run.started_at is None:
        return {}
    report = run.report or {}
    return {
        "attempt": run.attempt,
        "agent": run.agent.name,
        "reason": reason.value,
        "error": report.get("failure") or error,
        "approaches": report.get("approaches") or [],
        "last_steps": reading.last_steps(run.pk),
        "start": run.dossier.get("start", ""),
        "evidence": report.get("evidence") or {},
        "criteria_met": sorted((report.get("evidence") or {}).keys()),
        "proofs": run.proofs,
        "tokens": run.input_tokens + run.cache_creation_tokens + run.cache_read_tokens + run.output_tokens,
        "cost_usd": str(run.cost_usd) if run.cost_usd is not None else None,
        "cost_partial": run.cost_partial or run.cost_due,
        "seconds": round(worktime.so_far_s(run)),
        "guidance": run.guidance,
    }
