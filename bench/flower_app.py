"""A Celery app with one task, as Flower's users have it; `-A bench.flower_app`. Its broker is `BENCH_BROKER`."""

import os
import time

from celery import Celery

app = Celery("peer", broker=os.environ.get("BENCH_BROKER", "memory://"))
app.conf.update(
    task_default_queue="bench-peer", worker_send_task_events=True, task_send_sent_event=True, worker_hijack_root_logger=False
)


@app.task(name="bench.work")
def work() -> str:
    """Do nothing and say when that was done."""
    return f"{time.time():.6f}"
