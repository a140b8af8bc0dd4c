"""Files that are owed to teams (a restore, a rewind that was cut off) are put back as workers do it: beside everything else."""

import asyncio
import logging

from tasks_app.execution import db
from tasks_app.services import restores

logger = logging.getLogger(__name__)
LOOK_S = 2.0


async def look_after() -> None:
    """Go on for ever. Beside the sweep, in a thread of its own: git may take minutes, and the sweep takes back lost runs."""
    while True:
        await asyncio.sleep(LOOK_S)
        try:
            if await db.call(restores.any_due):
                await db.call_alone(restores.finish_due)
        except Exception:
            logger.exception("what files are owed could not be looked at; trying again")
