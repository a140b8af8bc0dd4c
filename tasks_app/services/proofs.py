"""Proofs: what came of checking a task's criteria; sole writer of a run's `proofs`."""

from collections.abc import Sequence
from typing import Any

from tasks_app.domain import criteria
from tasks_app.domain.criteria import Result, Unmet
from tasks_app.domain.events import EventKind
from tasks_app.domain.text import clean_json, cut, mask_json
from tasks_app.models import Task
from tasks_app.selectors import shown
from tasks_app.services import runs

SAYS_LIMIT = 500
"""Characters of a result in its event."""


def record(run_id: str, fence: int, results: Sequence[Result], *, told: Sequence[Result]) -> None:
    """Keep what came of proving the criteria of the run's task, with an event that tells of some. Raises `LeaseLost`."""
    kept = [mask_json(clean_json(one.dump())) for one in results]
    new = {one.number for one in told}
    with runs.holding(run_id, fence):
        runs.guard(run_id, fence, proofs=kept)
        lines = [{**_said(one), "says": cut(str(one["says"]), SAYS_LIMIT)} for one in kept if one["number"] in new]
        runs.append_event(runs.get(run_id), EventKind.TASK_PROVED, data={"results": lines})


def _said(result: dict[str, Any]) -> dict[str, Any]:
    return {name: result[name] for name in ("number", "proof", "met", "exit_code")}


def unmet(task: Task) -> list[Unmet]:
    """Return the criteria that the latest attempt has not shown to be met: by its report, or by a proof."""
    kept, report = shown.last(task)
    return criteria.unmet(task.criteria, report.get("evidence") or {}, read(kept))


def overridden(task: Task) -> dict[str, str]:
    """Return what a completion by hand leaves unproved, as its evidence records it; nothing where everything is met."""
    left = unmet(task)
    return {"not met": "; ".join(f"{one.criterion}: {one.why}" for one in left)} if left else {}


def read(proofs: Sequence[dict[str, Any]]) -> dict[int, Result]:
    """Return kept results by the number of their criterion."""
    return {one.number: one for one in map(Result.load, proofs)}
