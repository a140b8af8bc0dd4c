"""What has aged out is removed as workers do it: now and then, one small batch after another, beside everything else."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from django.conf import settings

from tasks_app.execution import db
from tasks_app.services import idempotency, pruning, retention

logger = logging.getLogger(__name__)
LOOK_S = 600.0
PAUSE_S = 0.2
"""Between two batches others have the database to themselves."""


def rules() -> retention.Rules:
    """Return the rules of the settings."""
    days = (settings.KEEP_STEPS_DAYS, settings.KEEP_TRANSCRIPTS_DAYS, settings.KEEP_EVENTS_DAYS, settings.KEEP_SNAPSHOTS_DAYS)
    return retention.Rules(*days)


def works() -> tuple[Coroutine[Any, Any, None], ...]:
    """Return all of it, each to go on for ever in a task of its own."""
    return look_after(), look_after_snapshots(), look_after_requests()


async def look_after(*, every_s: float = LOOK_S) -> None:
    """Go on for ever where there is a rule."""
    while rules():
        await _now_and_then(lambda: db.call(retention.sweep, rules()), every_s, "what has aged out")


async def look_after_snapshots(*, every_s: float = LOOK_S) -> None:
    """Prune the snapshots of teams for ever, each team once a day."""
    while True:
        await _now_and_then(lambda: db.call_alone(pruning.sweep), every_s, "snapshots that nothing needs")


async def look_after_requests(*, every_s: float = LOOK_S) -> None:
    """Forget for ever what was made by requests that cannot come again."""
    while True:
        await _now_and_then(lambda: db.call(idempotency.forget), every_s, "requests that cannot come again")


async def _now_and_then(batch: Callable[[], Awaitable[object]], every_s: float, what: str) -> None:
    """Wait, then remove batches until there is none. Any worker may, two at once do no harm; a little chance keeps them apart."""
    await asyncio.sleep(every_s * random.uniform(0.5, 1.5))  # noqa: S311 - not a secret
    try:
        while await batch():  # noqa: ASYNC110 - it is work, not waiting
            await asyncio.sleep(PAUSE_S)
    except Exception:
        logger.exception("%s could not be removed; trying again later", what)
