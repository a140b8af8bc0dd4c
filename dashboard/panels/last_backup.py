"""How the last backup went: below the Overview of administrators. No event tells of it, so a sweep brings it."""

from datetime import timedelta
from typing import Any

from django.conf import settings

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.services import backups, clock

LATE = 2
"""Intervals after which the last backup is too old."""


class LastBackup:
    """One line. Only pages of administrators have the block: who may see it is decided in `pages.overview`."""

    name = "last-backup"
    template = "panels/last_backup.html"

    def block(self) -> Block:
        """Return the block."""
        return Block("last-backup", self.name, (), frozenset())

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the last backup, and whether it should be newer."""
        last = backups.last() if settings.BACKUP_URL else None
        late = bool(last and last.ended_at and clock.now() - last.ended_at > timedelta(hours=LATE * settings.BACKUP_HOURS))
        return {"backups_on": bool(settings.BACKUP_URL), "backup": last, "backup_late": late}
