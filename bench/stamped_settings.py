"""The settings of a benchmark whose workers note their stages: Celery imports `bench.stamped` when a worker begins."""

import os
from importlib import import_module

_named = os.environ["DJANGO_SETTINGS_MODULE"]
try:
    os.environ["DJANGO_SETTINGS_MODULE"] = (
        "dashboard.settings"  # the package makes its Celery app by them, and these are not there yet
    )
    import_module("dashboard")
finally:
    os.environ["DJANGO_SETTINGS_MODULE"] = _named

from dashboard.settings import *  # noqa: E402, F403

CELERY_IMPORTS = ("bench.stamped",)
