"""The Django app of the face."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Pages, live socket and API."""

    name = "dashboard"
