"""A worker that lives in a test: it ends with it, its heart is quick, and it drives what is played."""

import asyncio
import contextlib
import tempfile
import threading
from collections.abc import Iterator

import pytest
from django.db import connection

from tasks_app.domain.statuses import Reason
from tasks_app.execution import admission, supervisor
from tasks_app.runners.port import Directive, Outcome, OutcomeKind
from tasks_app.services import runs
from tests.execution.lives import Scripted, say

CAME_BACK = {
    Directive.STOP: Outcome(OutcomeKind.STOPPED, Reason.STOPPED),
    Directive.LEAVE: Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED),
    Directive.LOST: Outcome(OutcomeKind.LOST),
}


async def end_all():
    """End the supervisor's own work, as the end of its process would."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@contextlib.contextmanager
def living(slots: int = 2) -> Iterator[supervisor.Supervisor]:
    """A supervisor that ends with the test and gives its connections back."""
    found = supervisor.Supervisor(slots=slots)
    found.start()
    try:
        yield found
    finally:
        asyncio.run_coroutine_threadsafe(end_all(), found._loop).result(10)
        found._loop.call_soon_threadsafe(found._loop.stop)
        found._thread.join(10)
        for pool in (found._beats, found._sweeps):
            pool.submit(lambda: connection.close()).result(10)  # its own, not ours
            pool.shutdown()
        found._loop.close()


@pytest.fixture
def quick(crew, monkeypatch):
    """A quick heart; the sweep out of the way; temporary files where they were."""
    monkeypatch.setattr(supervisor, "HEARTBEAT_S", 0.05)
    monkeypatch.setattr(supervisor, "SWEEP_S", 60.0)
    monkeypatch.setattr(admission, "LOAD_PER_CORE", 1000.0)
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture
def worker(quick) -> Iterator[supervisor.Supervisor]:
    """A worker at work."""
    with living() as found:
        yield found


def plays(*given):
    Scripted.plays[:], Scripted.specs[:] = list(given), []


def nudged(worker, crew):
    """Claim the task and nudge the worker for its run, as Celery's thread does; returns the run's id and the thread."""
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    thread = threading.Thread(target=worker.run, args=(run.pk,))
    thread.start()
    return run.pk, thread


async def waits(spec, port):
    """A play that works until the system wants something else."""
    await port.emit([say("I work.")])
    return CAME_BACK[await port.directive_changed()]
