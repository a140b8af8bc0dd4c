"""Tells on-call of what waits too long: claims each try, sends it outside any transaction, records how it went."""

import asyncio
import logging

from django.conf import settings

from tasks_app.execution import db, webhook
from tasks_app.services import oncall

logger = logging.getLogger(__name__)


async def look_after(*, every_s: float) -> None:
    """Go on for ever. Beside the sweep: a slow web hook must not hold up what takes back lost runs."""
    while True:
        await asyncio.sleep(every_s)
        try:
            await tell_due()
        except Exception:
            logger.exception("on-call could not be looked after")


async def tell_due() -> int:
    """Send what is due, one after another; returns how many were taken. Nothing where no on-call address is set."""
    if not settings.ONCALL_URL:
        return 0
    taken = 0
    while (notice := await db.call(oncall.claim, after_min=settings.ONCALL_AFTER_MIN, origin=_origin())) is not None:
        taken += await _tell(notice)
    return taken


def _origin() -> str:
    """The pages as people reach them from outside, where that is known."""
    return settings.ORIGINS[0] if settings.ORIGINS else ""


async def _tell(notice: oncall.Notice) -> bool:
    try:
        await webhook.post(settings.ONCALL_URL, notice.document, loopback=settings.DEBUG)
    except webhook.Undelivered as problem:
        logger.warning("on-call could not be told of %s (try %d): %s", notice.decision_id, notice.number, problem)
        await db.call(oncall.failed, notice, why=str(problem))
        return False
    await db.call(oncall.told, notice)
    return True
