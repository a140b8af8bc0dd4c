"""The one Redis subscription of a web process: turns wake-ups into hints for the hub, reconnects for ever."""

import asyncio
import json
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass

import redis.asyncio
from django.conf import settings
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import RedisError

from tasks_app import wake

logger = logging.getLogger(__name__)
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
SILENCE_S = 5.0
"""After so long without a word the server is asked with a PING; three silences in a row end the connection."""
MAX_BYTES, MAX_KEYS, MAX_KEY_CHARS = 1_000_000, 2000, 120


@dataclass(frozen=True)
class Hint:
    """A wake-up: this team has something new, probably these keys."""

    team: int
    keys: frozenset[str]


def parse(data: object) -> Hint | None:
    """Return the hint in a pub/sub message, or None for anything of another shape (whoever can publish may write anything)."""
    if not isinstance(data, bytes) or len(data) > MAX_BYTES:
        return None
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    team, keys = said.get("team"), said.get("keys", [])
    if type(team) is not int or not 0 < team < 2**63 or not isinstance(keys, list) or len(keys) > MAX_KEYS:
        return None
    return Hint(team, frozenset(key for key in keys if isinstance(key, str) and len(key) <= MAX_KEY_CHARS))


async def listen(hear: Callable[[Hint], None], connected: Callable[[], None]) -> None:
    """Call `hear` for each wake-up and `connected` after each (re)connect; ends only by cancellation."""
    pause = FIRST_PAUSE_S
    while True:
        client = redis.asyncio.Redis.from_url(
            settings.REDIS_URL,
            socket_connect_timeout=SILENCE_S,
            socket_timeout=SILENCE_S,
            retry=Retry(NoBackoff(), 0),  # its silent reconnect would hide that wake-ups were lost
        )
        try:
            async with client, client.pubsub() as subscription:
                await subscription.psubscribe(wake.TEAM_CHANNEL)
                connected()
                pause = FIRST_PAUSE_S
                await _hear_all(subscription, hear)
        except (RedisError, OSError) as error:
            logger.warning("wake-ups are lost for now, the slow timer goes on: %s", type(error).__name__)
        await asyncio.sleep(pause * random.uniform(0.7, 1.3))  # noqa: S311 - jitter
        pause = min(pause * 2, LONGEST_PAUSE_S)


async def _hear_all(subscription: redis.asyncio.client.PubSub, hear: Callable[[Hint], None]) -> None:
    silences = 0
    while True:
        message = await subscription.get_message(timeout=SILENCE_S)
        silences = 0 if message else silences + 1
        if silences >= 3:
            raise Disconnected("the server is silent")
        if message is None:
            await subscription.ping()
        elif message["type"] == "pmessage" and (hint := parse(message["data"])):
            hear(hint)
