"""Completions: how an attempt ends whose agent has reported its task as completed, and what that agent goes on with."""

from typing import Any

from tasks_app.domain.statuses import Reason, RunStatus
from tasks_app.domain.text import cut, one_line
from tasks_app.models import Run
from tasks_app.services import agents, checkpoints, deliveries, snapshots
from tasks_app.services.endings import Ending

HANDOVER_LIMIT = 4_000
"""Characters of what a fresh session is told of the agent's finished tasks."""


def is_reported(run: Run) -> bool:
    """Whether its agent has reported the task as completed, and no person has completed it meanwhile."""
    return (run.report or {}).get("status") == "completed" and run.stop_reason != Reason.BY_HAND.value


def complete(
    run: Run,
    fence: int,
    *,
    result: str = "",
    dossier: dict[str, Any] | None = None,
    untold: bool | None = None,
    fresh: bool,
) -> None:
    """End a run with its task, as it was reported; a checkpoint is saved where the dossier has the snapshot of the files.

    `fresh`: something went wrong after the report, so the agent's next task starts in a fresh session. `untold` as in `Ending`.
    Called in a transaction, which is to be undone where it raises `LeaseLost`.
    """
    ending = Ending(RunStatus.COMPLETED, Reason.DONE, result=result, dossier=dossier, untold=untold)
    deliveries.end(run.pk, fence, ending, why="its run ended")
    _hand_over(run, str((run.report or {}).get("summary") or result), fresh=fresh)
    if dossier is not None:
        name = f"after {run.task.label} {run.task.title}"
        checkpoints.at_boundary(run.team_id, name=name, workspace=str(dossier[snapshots.END]))


def _hand_over(run: Run, summary: str, *, fresh: bool) -> None:
    """The agent's next task goes on in this session, or, when it is full, in a fresh one that is told what was done."""
    done = f"- {run.task.label} {run.task.title}: {cut(summary, HANDOVER_LIMIT // 4)}"
    earlier = run.agent.handover.splitlines()[-6:]
    handover = cut("\n".join([*earlier, one_line(done, 1000)]), HANDOVER_LIMIT)
    agents.set_session(run.agent_id, session_id="" if fresh else run.session_id, handover=handover)
