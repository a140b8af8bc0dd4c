"""Flower (`uv sync --group bench`) as a peer: the end of a Celery task until the monitor knows of it, and its memory."""

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import psutil
from django.conf import settings

from bench import desk
from bench.flower_app import app
from bench.place import ROOT, Place

WORKER = ("worker", "--pool", "threads", "--concurrency", "4", "--task-events", "--queues", "bench-peer", "--loglevel", "WARNING")
READY_S = 40.0


@dataclass(frozen=True)
class Watched:
    """Milliseconds of each task from its end until Flower's API says so; MiB of Flower."""

    late_ms: list[float]
    memory_mib: float


def there() -> bool:
    """Whether Flower is installed."""
    return find_spec("flower") is not None


def watched(place: Place, *, tasks: int) -> Watched:
    """Let a worker do so many tasks under the eyes of Flower, one after another."""
    broker = str(settings.CELERY_BROKER_URL)
    app.conf.update(broker_url=broker)
    port = desk.free_port()
    more = ("flower", "--address=127.0.0.1", f"--port={port}", "--logging=warning")
    with _celery(place, broker, WORKER), _celery(place, broker, more) as flower:
        desk.until(partial(_knows, port, _begin()), seconds=READY_S, pause_s=0.5, words="Flower")
        late = [_late(port, _begin()) for _ in range(tasks)]
        memory = psutil.Process(flower.pid).memory_info().rss / 2**20
    return Watched(late, memory)


def _begin() -> str:
    return str(app.send_task("bench.work").id)


def _late(port: int, name: str) -> float:
    ended = desk.until(partial(_knows, port, name), seconds=10, pause_s=0.005, words="the end of a task in Flower")
    return (time.time() - float(ended.strip("'\""))) * 1000


def _knows(port: int, name: str) -> str:
    """Return what the finished task has returned, as Flower's API says it; empty before."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/task/info/{name}", timeout=5) as answer:
            said = json.load(answer)
    except OSError:
        return ""
    return str(said["result"]) if said.get("state") == "SUCCESS" else ""


@contextlib.contextmanager
def _celery(place: Place, broker: str, words: tuple[str, ...]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `celery -A bench.flower_app …` meanwhile."""
    env = os.environ | {"BENCH_BROKER": broker, "FLOWER_UNAUTHENTICATED_API": "true"}
    log = place.home / "log" / f"peer-{words[0]}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        command = [sys.executable, "-m", "celery", "-A", "bench.flower_app", *words]
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(8)
        process.kill()
        process.wait(desk.KILLED_S)
