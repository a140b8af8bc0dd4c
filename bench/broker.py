"""What the killer does to Valkey and to the nudges in it; each act tells what it saw."""

import contextlib
import json
import secrets
import shutil
import time
from base64 import b64decode
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import redis
from django.conf import settings

from bench.acts import NoEffect, NothingToDo, Scene, end
from bench.desk import TooLate, until
from dashboard.celery import app
from tasks_app import wake
from tasks_app.domain.statuses import OPEN_RUN
from tasks_app.models import Run

WITNESS = "crewdesk-bench-witness"
"""A key that tells whether another server has the data of the one before."""
DUPLICATES, OPEN_RUNS = 5, 20
TAKEN_S, LISTEN_S, LISTEN_ONCE_S = 15.0, 9.0, 3.0
BACK_S = 20.0
MOST_LOST = 3
QUEUE = str(app.conf.task_default_queue)


@contextlib.contextmanager
def server() -> Iterator["redis.Redis"]:
    """Yield a connection to the server. Raises `NothingToDo` where it does not answer."""
    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=LISTEN_ONCE_S + 5, socket_connect_timeout=2)
    with contextlib.closing(client):
        try:
            client.ping()
        except redis.ConnectionError as error:
            raise NothingToDo(f"Valkey does not answer: {error}") from None
        yield client


@contextlib.contextmanager
def nudges() -> Iterator["redis.Redis"]:
    """Yield a connection to where the nudges are, as Celery itself makes it: they lie in a database of their own."""
    with server(), app.connection_for_write(settings.CELERY_BROKER_URL) as connection:
        yield connection.default_channel.client  # type: ignore[attr-defined]


def restart(scene: Scene, *, data: bool) -> str:
    """`kill -9` of the server; what it had is on its disk, or its folder is empty when another starts."""
    victim, token = scene.pick("valkey"), secrets.token_hex(8)
    with server() as client:
        before = _run_id(client)
        client.set(WITNESS, token)
        client.save()
    folder = scene.home / "valkey"
    if not data:
        victim.suspend()  # else another could start from what is being removed
        _empty(folder)
    end(victim)
    until(partial(_another, before), seconds=BACK_S, words="another Valkey", pause_s=0.1)
    with server() as client:
        kept = client.get(WITNESS) == token.encode()
    if kept != data:
        raise NoEffect(f"another Valkey has {'the' if kept else 'no'} data of pid {victim.pid}")
    return f"pid {victim.pid}, gone; another came {'with' if kept else 'without'} its data"


def _run_id(client: "redis.Redis") -> str:
    info: dict[str, Any] = client.info("server")
    return str(info["run_id"])


def _another(before: str) -> bool:
    try:
        with server() as client:
            return _run_id(client) != before
    except (NothingToDo, redis.RedisError):
        return False


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def duplicate(scene: Scene) -> str:
    """Every open run is nudged five times more, and the workers take all of that from the queue."""
    ids = list(Run.objects.filter(status__in=[status.value for status in OPEN_RUN]).values_list("pk", flat=True)[:OPEN_RUNS])
    if not ids:
        raise NothingToDo("no run is open")
    accepted = sum(wake.nudge(run_id) for run_id in ids for _ in range(DUPLICATES))
    if accepted <= len(ids):
        raise NoEffect(f"the broker took {accepted} of {len(ids) * DUPLICATES} nudges")
    with nudges() as client:
        try:
            until(lambda: client.llen(QUEUE) == 0, seconds=TAKEN_S, words="the end of the queue", pause_s=0.05)
        except TooLate:
            left = client.llen(QUEUE)
            raise NoEffect(f"{left} nudges were still in the queue {TAKEN_S:g} s after {accepted} were sent") from None
    return f"{accepted} nudges for {len(ids)} runs, all taken by workers"


def lose(scene: Scene) -> str:
    """Nudges are taken out of the queue before a worker gets them: who waits longest is served first, and that is soon we."""
    lost: list[str] = []
    until_at = time.monotonic() + LISTEN_S
    with nudges() as client:
        while len(lost) < MOST_LOST and time.monotonic() < until_at and not scene.stopped.is_set():
            taken: Any = client.brpop([QUEUE], timeout=LISTEN_ONCE_S)
            lost += _nudged(taken[1]) if taken else []
    if not lost:
        raise NothingToDo(f"nobody was nudged within {LISTEN_S:g} s")
    return f"{len(lost)} nudges never arrived: {', '.join(lost)}"


def _nudged(message: bytes) -> list[str]:
    """The run that a message nudges for; nothing for any other message."""
    found = json.loads(message)
    if found["headers"].get("task") != wake.EXECUTE:
        return []
    arguments = json.loads(b64decode(found["body"]))[0]
    return [str(arguments[0])]
