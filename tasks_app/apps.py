"""The Django app of the system."""

from django.apps import AppConfig


class TasksAppConfig(AppConfig):
    """Teams, tasks, runs and all that drives them."""

    name = "tasks_app"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Crewdesk"
