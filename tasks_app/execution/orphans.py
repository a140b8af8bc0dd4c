"""What agents have left running on this host (a shell, say) in lives that are over: it is ended before others go on beside it.

Claude Code dies with its worker, what it has started does not.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from tasks_app.runners.claude import processes
from tasks_app.runners.claude.processes import Marked
from tasks_app.selectors import journal, runs
from tasks_app.services.recovery import Lost

GONE_S = 2.0


def end(lost: Sequence[Lost] = ()) -> set[str]:
    """End what lives here of this home's runs in no life that is under way, or in one of `lost`; return what runs survive.

    No life that is under way, or begins meanwhile, is touched: it is stored before it has a process. So what is seen before the
    lives are read, and is in none of them, is over for good.
    """
    seen = processes.marked()
    over = _over(seen, lost) if seen else set()
    if not over:
        return set()
    dead = {one.run_id for one in lost if one.worker}
    home = str(Path(settings.HOME) / "runs")

    def is_over(one: Marked) -> bool:
        """Another home may be a copy of this one: its runs are ended with their worker, which both agree on."""
        return (one.run_id, one.fence) in over and (one.run_id in dead or one.is_below(home))

    if asyncio.run(processes.kill(is_over, term_s=0, gone_s=GONE_S)):
        return set()
    return {one.run_id for one in processes.marked() if is_over(one)}


def _over(seen: Sequence[Marked], lost: Sequence[Lost]) -> set[tuple[str, int]]:
    """Which of the lives that were seen are over; those of other databases are not for us to say."""
    lives = {(one.run_id, one.fence) for one in seen}
    fences = {one.run_id: one.fence for one in lost}
    known = journal.known_runs({run_id for run_id, _ in lives})
    under_way = set(runs.lives_under_way())
    return {
        (run_id, fence)
        for run_id, fence in lives
        if run_id in known and ((run_id, fence) not in under_way or fence <= fences.get(run_id, 0))
    }
