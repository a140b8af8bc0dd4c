"""The settings of a benchmark whose workers note their stages: Celery imports `bench.stamped` when a worker begins."""

from dashboard.settings import *  # noqa: F403

CELERY_IMPORTS = ("bench.stamped",)
