"""What the killer does to processes, clock, disk and database counts only when its effect was seen."""

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench import acts, twin
from bench.acts import Frozen, NoEffect, NothingToDo, Scene
from bench.clock import Clock
from bench.cluster import Cluster
from bench.place import ROOT
from tests.bench import stand_ins
from tests.factories import RunFactory, WorkerFactory

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="Debian: apt-get install gcc libc6-dev")
NAME = "host:{}:77"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(stand_ins.desk(tmp_path), random.Random(1))


def test_what_was_killed_is_gone(scene: Scene) -> None:
    with pytest.raises(NothingToDo, match="there is no web"):
        acts.kill("web", scene)
    with stand_ins.process(scene.home, "daphne") as web:
        assert acts.kill("web", scene) == f"pid {web.pid}, gone"
        assert web.wait() == -9


def test_what_ended_by_itself_was_not_killed(scene: Scene) -> None:
    with stand_ins.process(scene.home, "daphne") as web:
        victim = psutil.Process(web.pid)
        web.kill()
        web.wait()
    with pytest.raises(NothingToDo, match="ended by itself"):
        acts.end(victim)


def test_a_frozen_worker_is_past_its_lease_only_by_time_or_fence(scene: Scene, db: None) -> None:
    runs = [RunFactory(fence=2) for _ in range(3)]
    frozen = Frozen(psutil.Process(), 0.0, {run.pk: 2 for run in runs})
    assert sorted(acts._leases(scene, frozen)) == sorted(frozen.held)
    type(runs[0]).objects.filter(pk=runs[0].pk).update(fence=3)
    type(runs[0]).objects.filter(pk=runs[1].pk).update(lease_until=1.0)
    assert acts._leases(scene, frozen) == [runs[2].pk]
    assert acts._taken(frozen) == 1


@pytest.fixture
def clock(tmp_path: Path, scene: Scene) -> Clock:
    made = Clock.make(tmp_path.with_suffix(".clock"))
    scene.desk.place.clock = made
    scene.desk.place.env |= made.env
    return made


@needs_compiler
def test_the_clock_jumps_each_time_and_never_to_where_it_is(scene: Scene, clock: Clock) -> None:
    with stand_ins.process(scene.home, "dashboard.worker", **clock.env):
        for _ in range(12):
            before = clock.offset_s
            acts.set_clock(scene)
            assert clock.offset_s != before
            assert abs(clock.seen_s() - clock.offset_s) < 5


@needs_compiler
def test_a_clock_that_a_worker_does_not_go_by_has_not_jumped(scene: Scene, clock: Clock) -> None:
    with stand_ins.process(scene.home, "dashboard.worker") as blind, pytest.raises(NoEffect, match=str(blind.pid)):
        acts.set_clock(scene)
    with pytest.raises(NoEffect, match="of 0 workers"):
        acts.set_clock(scene)
    clock.library.unlink()
    with pytest.raises(NoEffect, match=r"reads a clock that is -?0 s off"):
        acts.set_clock(scene)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full is Linux's")
def test_a_full_disk_refuses_to_write(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acts, "FULL_S", 0.2)
    (scene.home / "filler").symlink_to("/dev/full")
    assert "no space left on the device" in acts.fill_disk(scene)
    assert not (scene.home / "filler").is_symlink()


def test_what_keeps_from_writing_for_another_reason_is_no_full_disk(scene: Scene) -> None:
    (scene.home / "filler").symlink_to(scene.home / "nowhere" / "else")
    with pytest.raises(FileNotFoundError):
        acts.fill_disk(scene)


class Still(Cluster):
    """A cluster that goes on as if nothing had happened, or restarts."""

    pids: list[int]

    def pid(self) -> int:
        return self.pids.pop(0)

    def restart(self, *, mode: str = "immediate") -> None:
        pass


@pytest.mark.parametrize(("pids", "restarted"), [([7, 7], False), ([7, 8], True)])
def test_postgres_was_restarted_when_another_process_serves(scene: Scene, pids: list[int], restarted: bool) -> None:
    cluster = Still(Path("/nowhere"))
    cluster.pids = pids
    scene.desk.place = replace(scene.desk.place, cluster=cluster)
    if restarted:
        assert acts.restart_postgres(scene) == "pid 7, then 8"
    else:
        with pytest.raises(NoEffect, match="serves as before"):
            acts.restart_postgres(scene)


@pytest.fixture
def first(scene: Scene, db: None) -> Iterator[str]:
    """A worker that has registered; its name."""
    with stand_ins.process(scene.home, "dashboard.worker") as process:
        name = NAME.format(process.pid)
        WorkerFactory(name=name, pid=process.pid)
        yield name


def second(scene: Scene, monkeypatch: pytest.MonkeyPatch, *, lives: bool, registers: bool) -> list[dict[str, Any]]:
    """Let the twin live, and register under the name that it is given; returns how it was asked for."""
    asked: list[dict[str, Any]] = []

    def start(number: int, **given: Any) -> "subprocess.Popen[bytes]":
        asked.append(given)
        process = subprocess.Popen(["sleep", "60" if lives else "0"], start_new_session=True)
        if registers:
            acts.Worker.objects.filter(name=given["env"][twin.NAME]).update(pid=process.pid)
        return process

    monkeypatch.setattr(scene.desk, "extra_worker", start)
    monkeypatch.setattr(acts, "TWIN_MOST_S", 0.1)
    monkeypatch.setattr(acts, "READY_S", 0.5)
    return asked


def test_a_twin_has_registered_under_the_name_of_a_worker_that_lives(
    scene: Scene, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = second(scene, monkeypatch, lives=True, registers=True)
    assert f"were both {first}" in acts.double(scene)
    assert asked == [{"app": "bench.twin", "env": {twin.NAME: first}}]


def test_two_that_were_not_side_by_side_for_the_whole_while_do_not_count(
    scene: Scene, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    second(scene, monkeypatch, lives=True, registers=True)
    scene.stopped.set()
    with pytest.raises(NothingToDo, match="the team was done before"):
        acts.double(scene)


@pytest.mark.parametrize(("lives", "words"), [(True, "the registration of the twin did not come"), (False, "the second ended")])
def test_one_that_has_not_registered_was_no_twin(
    scene: Scene, first: str, lives: bool, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    second(scene, monkeypatch, lives=lives, registers=False)
    with pytest.raises((NoEffect, stand_ins.TooLate), match=words):
        acts.double(scene)


def test_the_twin_s_app_gives_it_that_name() -> None:
    look = "from bench.twin import app; from tasks_app.services import workers; print(workers.name_of_this_process('here'))"
    env = {**acts.os.environ, twin.NAME: "host:1:2"}
    done = subprocess.run([sys.executable, "-c", look], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "host:1:2", done.stderr
