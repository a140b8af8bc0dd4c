"""The face: settings, pages, live socket, API."""

from dashboard.celery import app as celery_app

__all__ = ["celery_app"]
