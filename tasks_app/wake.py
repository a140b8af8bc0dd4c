"""The only door to Redis: publishes hints, listens for them, sends Celery nudges. Hints carry ids and may be lost.

No caller depends on a hint: browsers, waiters and workers each have a slow timer that asks the database.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Iterable
from functools import cache

import redis
import redis.asyncio
from celery import current_app
from django.conf import settings

logger = logging.getLogger(__name__)
TEAM = "crewdesk:team:{}"
TEAM_CHANNEL = "crewdesk:team:*"
RUN = "crewdesk:run:{}"
RUN_CHANNEL = "crewdesk:run:*"
EXECUTE = "tasks_app.jobs.execute"
REST_S = 1.0
"""After a failure nothing is tried for so long: an unreachable server must not slow every commit down."""
ERRORS = (redis.RedisError, OSError)
_failed_at = 0.0


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1, health_check_interval=15)


def _publish(channel: str, payload: dict[str, object]) -> bool:
    global _failed_at
    if time.monotonic() - _failed_at < REST_S:
        return False
    try:
        _client().publish(channel, json.dumps(payload, separators=(",", ":")))
    except ERRORS as error:
        _failed_at = time.monotonic()
        logger.info("a wake-up was lost: %s", type(error).__name__)
        return False
    return True


def browsers(team_id: int, seq: int, keys: Iterable[str]) -> None:
    """Hint to every web process that blocks with these keys are stale as of event `seq`."""
    _publish(TEAM.format(team_id), {"team": team_id, "seq": seq, "keys": sorted(keys)})


def run(run_id: str) -> None:
    """Hint to the worker that holds the run: an answer, a message or a stop is there."""
    _publish(RUN.format(run_id), {"run": run_id})


def nudge(run_id: str) -> bool:
    """Send the Celery nudge `execute(run_id)`; False where the broker does not answer (the sweep comes again)."""
    global _failed_at
    if time.monotonic() - _failed_at < REST_S:
        return False
    try:
        current_app.send_task(EXECUTE, args=[run_id], retry=False, ignore_result=True)
    except Exception as error:
        # kombu wraps each transport's own errors: whatever it is, a nudge may be lost
        _failed_at = time.monotonic()
        logger.info("a nudge was lost: %s", type(error).__name__)
        return False
    return True


def reachable() -> bool:
    """Whether the server answers a PING within a second."""
    try:
        return bool(_client().ping())
    except ERRORS:
        return False


async def run_hints() -> AsyncIterator[str]:
    """Yield run ids as hints arrive; reconnects for ever with back-off, so it ends only by cancellation."""
    pause = 0.2
    while True:
        try:
            client = redis.asyncio.Redis.from_url(settings.REDIS_URL, health_check_interval=15)
            async with client, client.pubsub() as subscription:
                await subscription.psubscribe(RUN_CHANNEL)
                pause = 0.2
                async for message in subscription.listen():
                    if message["type"] == "pmessage":
                        yield message["channel"].decode().rsplit(":", 1)[1]
        except ERRORS:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 5.0)
