"""Retention as workers do it: now and then, one small batch after another, beside everything else."""

import asyncio
import logging
import random

from django.conf import settings

from tasks_app.execution import db
from tasks_app.services import pruning, retention

logger = logging.getLogger(__name__)
LOOK_S = 600.0
PAUSE_S = 0.2
"""Between two batches others have the database to themselves."""


def rules() -> retention.Rules:
    """Return the rules of the settings."""
    days = (settings.KEEP_STEPS_DAYS, settings.KEEP_TRANSCRIPTS_DAYS, settings.KEEP_EVENTS_DAYS, settings.KEEP_SNAPSHOTS_DAYS)
    return retention.Rules(*days)


async def look_after(*, every_s: float = LOOK_S) -> None:
    """Go on for ever where there is a rule. Any worker may do it, two at once do no harm; a little chance keeps them apart."""
    while rules():
        await asyncio.sleep(every_s * random.uniform(0.5, 1.5))  # noqa: S311 - not a secret
        try:
            while await db.call(retention.sweep, rules()):  # noqa: ASYNC110 - it is work, not waiting
                await asyncio.sleep(PAUSE_S)
        except Exception:
            logger.exception("what has aged out could not be removed; trying again later")


async def look_after_snapshots(*, every_s: float = LOOK_S) -> None:
    """Prune the snapshots of teams for ever, each team once a day."""
    while True:
        await asyncio.sleep(every_s * random.uniform(0.5, 1.5))  # noqa: S311 - not a secret
        try:
            while await db.call_alone(pruning.sweep) is not None:  # noqa: ASYNC110 - it is work, not waiting
                await asyncio.sleep(PAUSE_S)
        except Exception:
            logger.exception("snapshots that nothing needs could not be removed; trying again later")
