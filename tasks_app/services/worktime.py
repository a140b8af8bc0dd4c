"""Whether an attempt has working time left (selectors/worktime.py says what that is)."""

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import RunStatus
from tasks_app.models import Run
from tasks_app.selectors.worktime import until_now

__all__ = ["left_s", "until_now"]


def left_s(run_id: str, fence: int, *, limit_s: float) -> float:
    """Return the working time that is left of `limit_s`, at most that; 0 or less when it is over. Raises `LeaseLost`."""
    held = Run.objects.filter(pk=run_id, fence=fence, status=RunStatus.RUNNING.value)
    worked = held.values_list(until_now(), flat=True).first()
    if worked is None:
        raise LeaseLost(f"Run {run_id} belongs to another worker now.")
    return limit_s - float(worked)
