"""What one can fork from and what a rewind changes, as the terminal and the API show them; and which attempt is meant."""

from typing import Any

from tasks_app.domain.errors import NotFound
from tasks_app.domain.text import one_line
from tasks_app.selectors import attempts
from tasks_app.services import forks
from tasks_app.services.rewinds import Preview


def run_of(task_id: int, named: str) -> str:
    """Return the id of the task's attempt that is named by its number or id. Raises `NotFound` with those there are."""
    known = {str(one.number): one.id for one in attempts.of_task(task_id)}
    wanted = named.strip().lower()
    if wanted in known or wanted in known.values():
        return known.get(wanted, wanted)
    there = f"There are: {', '.join(known)}." if known else "It has none yet."
    raise NotFound(f"This task has no attempt “{one_line(named, 40)}”. {there}", field="run")


def messages(run_id: str) -> list[dict[str, Any]]:
    """Return the messages of an attempt that one can fork from, oldest first; `prompt`: the files can be put back to it."""
    return [
        {"at": step.seq, "prompt": step.kind == "prompt", "text": one_line(step.text, 200), "time": step.at.isoformat()}
        for step in forks.points(run_id)
    ]


def rewind(found: Preview, *, done: bool) -> dict[str, Any]:
    """Return what a rewind changes (`done`: has changed). `seen` names what was looked at."""
    return {
        "attempt": found.attempt,
        "at": found.step,
        "files": list(found.files),
        "summary": found.summary,
        "patch": found.patch,
        "seen": found.seen,
        "done": done,
    }
