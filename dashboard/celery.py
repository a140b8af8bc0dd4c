"""The Celery app: a message is only a nudge, the database is the queue."""

import os
from collections.abc import Mapping
from typing import Any

from celery import Celery
from celery.concurrency import get_implementation
from celery.signals import celeryd_init
from django.conf import settings

from dashboard import open_files
from tasks_app import own_memory

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
open_files.allow_many()
# Celery would run Django's checks and tell nobody what they found; they load every page, a third of a second at each start.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

OTHER_POOL = "Crewdesk's workers run agents in threads: leave out --pool, or start one with `python -m dashboard.worker`."

app = Celery("crewdesk")
app.config_from_object("django.conf:settings", namespace="CELERY")  # read when they are first asked for, not here
app.autodiscover_tasks(["tasks_app"], related_name="jobs")
app.steps["consumer"].add("tasks_app.jobs:Room")  # by name: only a worker loads what drives runs


@celeryd_init.connect
def _begin(options: Mapping[str, Any] | None = None, **_: Any) -> None:
    """A worker begins. Celery's command line takes a pool over the one that is configured: that raises SystemExit."""
    own_memory.keep_private()  # Celery's own command line comes by no other way
    given = options or {}
    pool = given.get("pool") or given.get("pool_cls") or settings.CELERY_WORKER_POOL
    if get_implementation(pool) is not get_implementation(settings.CELERY_WORKER_POOL):
        raise SystemExit(OTHER_POOL)
