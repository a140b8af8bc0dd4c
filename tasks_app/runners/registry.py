"""The runners: a name in plans and settings → the class that drives such runs. Adding one is a file and a line."""

RUNNERS: dict[str, str] = {
    "claude": "tasks_app.runners.claude.session.ClaudeRunner",
}
"""Dotted paths, imported on first use (`django.utils.module_loading.import_string` or the like): an SDK costs start-up time."""
