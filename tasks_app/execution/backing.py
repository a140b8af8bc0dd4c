"""Backups as workers make them: one in each interval, by whichever worker comes first."""

import asyncio
import logging
import random

from django.conf import settings

from tasks_app.execution import db
from tasks_app.services import backups

logger = logging.getLogger(__name__)
LOOK_S = 60.0


async def look_after(*, every_s: float = LOOK_S) -> None:
    """Go on for ever where a place is set. In a thread of its own: what takes minutes must not hold up the database's threads."""
    while settings.BACKUP_URL:
        await asyncio.sleep(every_s * random.uniform(0.5, 1.5))  # noqa: S311 - not a secret
        try:
            await db.call_alone(_once)
        except Exception:
            logger.exception("a backup could not be begun; trying again later")


def _once() -> None:
    made = backups.take_if_due()
    if made is not None and made.error:
        logger.error("the backup %s failed: %s", made.name, made.error)
