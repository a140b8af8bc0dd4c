"""What the killer does to Valkey and its messages: the data is really there or really gone, a nudge is really taken away."""

import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis

from bench import broker
from bench.acts import NoEffect, NothingToDo, Scene
from tasks_app import wake
from tasks_app.management.embedded import EmbeddedServer
from tests.bench import stand_ins
from tests.factories import RunFactory


@pytest.fixture
def scene(settings: Any) -> Iterator[Scene]:
    home = Path(tempfile.mkdtemp(prefix="cb-"))  # short: a socket lies in it
    socket = home / "run" / "valkey.sock"
    settings.REDIS_URL = f"unix://{socket}?db=0"
    settings.CELERY_BROKER_URL = f"redis+socket://{socket}?virtual_host=1"
    server, done = EmbeddedServer(home, socket), threading.Event()

    def look_after() -> None:
        while not done.wait(0.1):
            server.ensure()

    (home / "log").mkdir()
    server.ensure()
    thread = threading.Thread(target=look_after)
    thread.start()
    yield Scene(stand_ins.desk(home), random.Random(1))
    done.set()
    thread.join()
    server.leave()
    shutil.rmtree(home, ignore_errors=True)


def test_another_server_has_the_data_of_the_one_before(scene: Scene) -> None:
    (before,) = stand_ins.of_home(scene.home, "valkey")
    assert "another came with its data" in broker.restart(scene, data=True)
    assert stand_ins.has_ended(before)


def test_another_server_has_none_of_the_data(scene: Scene) -> None:
    assert "another came without its data" in broker.restart(scene, data=False)


def test_data_that_was_not_removed_is_no_loss(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "_empty", lambda folder: None)
    with pytest.raises(NoEffect, match="has the data of"):
        broker.restart(scene, data=False)


def test_data_that_was_not_saved_is_not_there(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis.Redis, "save", lambda self: None)
    with pytest.raises(NoEffect, match="has no data of"):
        broker.restart(scene, data=True)


def test_a_server_that_is_away_cannot_be_restarted(scene: Scene, settings: Any) -> None:
    settings.REDIS_URL = "unix:///nowhere.sock"
    with pytest.raises(NothingToDo, match="does not answer"):
        broker.restart(scene, data=True)


def send(run_id: str, task: str = wake.EXECUTE) -> bool:
    """Send a nudge as the product does it."""
    with broker.app.connection_for_write(broker.settings.CELERY_BROKER_URL) as connection:
        broker.app.send_task(task, args=[run_id], connection=connection, retry=False, ignore_result=True)
    return True


@pytest.fixture
def consumer(scene: Scene) -> Iterator[list[Any]]:
    """What a worker takes from the queue: it asks for one message, for a second at most, again and again."""
    taken: list[Any] = []
    done = threading.Event()

    def consume() -> None:
        with broker.nudges() as client:
            while not done.is_set():
                taken.extend(filter(None, [client.brpop([broker.QUEUE], timeout=0.4)]))

    thread = threading.Thread(target=consume)
    thread.start()
    yield taken
    done.set()
    thread.join()


def test_a_nudge_is_lost_when_no_worker_gets_it(scene: Scene, consumer: list[Any]) -> None:
    timer = threading.Timer(1.5, send, ["r1abc"])
    timer.start()
    broker_says = broker.lose(scene)
    timer.join()
    assert broker_says == "1 nudges never arrived: r1abc"
    time.sleep(0.3)
    assert consumer == []


@pytest.mark.usefixtures("consumer")
def test_where_nobody_is_nudged_nothing_is_lost(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "LISTEN_S", 0.2)
    monkeypatch.setattr(broker, "LISTEN_ONCE_S", 0.6)
    send("x", task="celery.ping")
    with pytest.raises(NothingToDo, match="nobody was nudged"):
        broker.lose(scene)


def test_duplicates_are_nudges_that_workers_take(
    scene: Scene, db: None, consumer: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NothingToDo, match="no run is open"):
        broker.duplicate(scene)
    RunFactory()
    monkeypatch.setattr(wake, "nudge", send)
    assert "5 nudges for 1 runs, all taken by workers" in broker.duplicate(scene)
    stand_ins.until(lambda: len(consumer) == 5, seconds=5)


@pytest.mark.parametrize(
    ("sends", "words"), [(lambda run_id: False, "the broker took 0 of 5"), (send, "were still in the queue")]
)
def test_nudges_that_nobody_takes_are_no_duplicates(
    scene: Scene, db: None, sends: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    RunFactory()
    monkeypatch.setattr(wake, "nudge", sends)
    monkeypatch.setattr(broker, "TAKEN_S", 0.2)
    with pytest.raises(NoEffect, match=words):
        broker.duplicate(scene)


def test_a_server_by_the_name_of_redis_is_found_too(tmp_path: Path) -> None:
    for name in ("valkey-server", "redis-server"):
        with stand_ins.process(tmp_path, f"/usr/bin/{name}") as process:
            assert stand_ins.of_home(tmp_path, "valkey") == [psutil.Process(process.pid)]
