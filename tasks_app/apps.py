"""The Django app of the system."""

from django.apps import AppConfig

from tasks_app import checks  # noqa: F401 - importing them registers them


class TasksAppConfig(AppConfig):
    """Teams, tasks, runs and all that drives them."""

    name = "tasks_app"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Crewdesk"
