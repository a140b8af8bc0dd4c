"""The Celery functions: nudges only. One that is lost, late or sent twice changes nothing: the database says what is due."""

from typing import Any

from celery import bootsteps, shared_task
from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from celery.worker import state

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


@worker_shutdown.connect
def _left(**_: Any) -> None:
    supervisor.await_left()


class Room(bootsteps.StartStopStep):
    """Takes a nudge from the queue only while there is room for its run, so that it stays there for others; looks again at once.

    Celery's own `worker_disable_prefetch` looks only once a second whether a thread has become free: a task that became ready
    waited so long wherever every slot was in use. It is also what this step is modelled on (celery/worker/consumer/tasks.py).
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def start(self, consumer: Any) -> None:
        """Begin, and again after each reconnection, whose channel is a new one."""
        quality = consumer.task_consumer.channel.qos
        may_consume = quality.can_consume
        quality.can_consume = lambda: _has_room() and may_consume()
        supervisor.current().on_room = lambda: consumer.call_soon(_look_again)


def _has_room() -> bool:
    """Whether there is a place left, those counted for which a nudge has come but has no thread yet."""
    return supervisor.current().room() > len(state.reserved_requests) - len(state.active_requests)


def _look_again() -> None:
    """Called in Celery's loop: that it turns once is all that is wanted, for it asks then whether there is room."""
