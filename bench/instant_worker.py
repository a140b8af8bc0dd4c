"""The Celery app of a worker that also knows the benchmarks' own task type; `-A bench.instant_worker`."""

from dashboard.celery import app
from tasks_app.runners.registry import RUNNERS
from tasks_app.task_types.registry import TYPES

RUNNERS["instant"] = "bench.instant.InstantRunner"
TYPES["instant"] = "bench.instant_type"

__all__ = ["app"]
