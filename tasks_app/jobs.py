"""The Celery functions: nudges only. Losing, repeating or delaying one changes nothing (design.md §6)."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down

from tasks_app.execution import supervisor


@shared_task(name="tasks_app.jobs.execute", ignore_result=True)
def execute(run_id: str) -> None:
    """Claim and drive the run, if it is to be had."""
    if isinstance(run_id, str) and run_id.isalnum() and len(run_id) <= 16:
        supervisor.current().run(run_id)


@worker_ready.connect
def _begin(**_: Any) -> None:
    supervisor.current()


@worker_shutting_down.connect
def _leave(**_: Any) -> None:
    supervisor.leave()
