"""What must not be left on this host: processes of lives that are over; when an installation has ended, any, and their files."""

import time
from pathlib import Path

from bench import desk
from tasks_app.domain.statuses import RunStatus
from tasks_app.models import Run

PATIENCE_S = 12.0


def processes(home: Path, *, patience_s: float = PATIENCE_S) -> list[str]:
    """Return what still runs for this home after `patience_s`, one line each; looks until there is nothing."""
    end = time.monotonic() + patience_s
    while (found := desk.all_of_home(home)) and time.monotonic() < end:
        time.sleep(0.1)
    return [f"a process is left: {line}" for line in found]


def orphans(home: Path, *, patience_s: float = PATIENCE_S) -> list[str]:
    """Return what still runs after `patience_s` for a life that no worker has any more, while the installation goes on.

    Whoever ends the installation ends all of them: afterwards nobody can tell that they had been forgotten.
    """
    end = time.monotonic() + patience_s
    while (found := _of_no_life(home)) and time.monotonic() < end:
        time.sleep(0.1)
    return [f"a process of a life that is over is left: {line}" for line in found]


def _of_no_life(home: Path) -> list[str]:
    marked = desk.runs_of_home(home)  # before the look at the rows: a life is stored before it has a process
    lives = set(Run.objects.filter(status=RunStatus.RUNNING.value).values_list("pk", "fence"))
    return [f"run {run}, life {fence}: {line}" for run, fence, line in marked if (run, fence) not in lives]


def files(home: Path) -> list[str]:
    """Return private folders of runs and materialised transcripts that nobody will remove any more."""
    found = [path for name in ("runs", "tmp") for path in sorted((home / name).glob("*"))]
    return [f"a temporary file is left: {path.relative_to(home)} {_inside(path)}" for path in found]


def _inside(path: Path) -> list[str]:
    return [str(each.relative_to(path)) for each in sorted(path.rglob("*"))][:5]
