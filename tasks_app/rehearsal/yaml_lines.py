"""The old name of `tasks_app.domain.plan_lines`, for `management/lead.py` until it imports that."""

from tasks_app.domain.plan_lines import Document, Path, dotted, read

__all__ = ["Document", "Path", "dotted", "read"]
