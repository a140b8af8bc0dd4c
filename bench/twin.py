"""The Celery app of a worker that has the name of another one, which stands in CREWDESK_BENCH_TWIN.

The product gives no two workers one name (host, pid and start), but the clone of a machine has what its original has. Only the
fence keeps the two apart then.
"""

import os
from unittest.mock import patch

import django

from dashboard.celery import app

__all__ = ["NAME", "app"]
NAME = "CREWDESK_BENCH_TWIN"


def _take_name(name: str) -> None:
    """Be the worker of that name, before Celery asks who we are."""
    django.setup()
    patch("tasks_app.services.workers.name_of_this_process", lambda host: name).start()


if NAME in os.environ:
    _take_name(os.environ[NAME])
