"""The supervisor: what dies comes back, what keeps dying is given time, logs are turned over, and nothing is left."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from tasks_app.management import spare
from tasks_app.management.embedded import EmbeddedServer
from tasks_app.management.service import Service
from tasks_app.management.supervise import MAX_LOG_BYTES, SPARE_AFTER_S, STILL_S, Supervisor, pause_s, turn_over
from tests.management.desks import ROOT, wait_for

SLEEPER = (
    "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); time.sleep(600)"
)


class Told(list[tuple[str, Sequence[str]]]):
    def __call__(self, sentence: str, lines: Sequence[str]) -> None:
        self.append((sentence, lines))


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def service(tmp_path: Path, code: str) -> Service:
    return Service("thing", (sys.executable, "-c", code), tmp_path / "log" / "thing.log", dict(os.environ), tmp_path)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[object]:
    made: list[Supervisor] = []

    def _make(code: str, told: Told, clock: Clock | None = None) -> Supervisor:
        supervisor = Supervisor([service(tmp_path, code)], told, tmp_path, clock=clock or Clock())
        made.append(supervisor)
        supervisor.start()
        return supervisor

    yield _make
    for supervisor in made:
        supervisor.stop(patience_s=1)


def test_the_first_death_costs_no_pause_and_the_next_ones_double_it_up_to_half_a_minute() -> None:
    assert [pause_s(deaths) for deaths in (1, 2, 3, 4, 5)] == [0, 0.5, 1, 2, 4]
    assert pause_s(50) == 30


def test_a_killed_process_is_started_again_at_the_next_look(make: object, tmp_path: Path) -> None:
    told = Told()
    supervisor = make("import time; time.sleep(600)", told)  # type: ignore[operator]
    (first,) = supervisor.groups()
    os.killpg(first, signal.SIGKILL)
    wait_for(lambda: supervisor.look() or supervisor.groups() != [first], seconds=5)
    assert psutil.pid_exists(supervisor.groups()[0])
    assert told[0][0] == "The thing was killed by signal 9: starting it again."


def test_a_process_that_keeps_dying_gets_longer_pauses_and_its_last_lines_are_shown(make: object) -> None:
    told, clock = Told(), Clock()
    supervisor = make("print('no such table'); raise SystemExit(3)", told, clock)  # type: ignore[operator]

    def died(times: int) -> bool:
        supervisor.look()
        clock.now += 0.01 if supervisor.groups() else 40
        return len(told) >= times

    wait_for(lambda: died(3), seconds=20)
    sentence, lines = told[2]
    assert "ended with code 3, 3 times in a row: starting it again in 1 s" in sentence
    assert lines[-1] == "no such table"


def test_a_process_that_ran_well_for_long_starts_counting_afresh(make: object) -> None:
    told, clock = Told(), Clock()
    supervisor = make("import time; time.sleep(600)", told, clock)  # type: ignore[operator]
    for _ in range(3):
        (group,) = supervisor.groups()
        clock.now += 60
        os.killpg(group, signal.SIGKILL)
        wait_for(lambda group=group: supervisor.look() or supervisor.groups() != [group], seconds=5)
    assert [sentence.endswith("starting it again.") for sentence, _ in told] == [True, True, True]


def test_a_process_that_stands_still_is_ended_and_started_again_after_a_minute_and_not_before(make: object) -> None:
    told, clock = Told(), Clock()
    supervisor = make("import time; time.sleep(600)", told, clock)  # type: ignore[operator]
    (group,) = supervisor.groups()
    os.killpg(group, signal.SIGSTOP)
    wait_for(lambda: psutil.Process(group).status() == psutil.STATUS_STOPPED, seconds=5)
    supervisor.look()
    clock.now += STILL_S - 1
    supervisor.look()
    os.killpg(group, signal.SIGCONT)
    wait_for(lambda: psutil.Process(group).status() != psutil.STATUS_STOPPED, seconds=5)
    supervisor.look()
    os.killpg(group, signal.SIGSTOP)
    wait_for(lambda: psutil.Process(group).status() == psutil.STATUS_STOPPED, seconds=5)
    clock.now += 2
    supervisor.look()
    assert supervisor.groups() == [group], "it went on in between: the minute begins anew"
    clock.now += STILL_S
    supervisor.look()
    assert supervisor.groups() != [group]
    assert [sentence for sentence, _ in told] == [
        "The thing stood still for 60 s: ended.",
        "The thing was killed by signal 9: starting it again.",
    ]


def test_stop_ends_whole_groups_grandchildren_included(make: object) -> None:
    supervisor = make(SLEEPER, Told())  # type: ignore[operator]
    (group,) = supervisor.groups()
    wait_for(lambda: len(psutil.Process(group).children()) == 1, seconds=10)
    grandchild = psutil.Process(group).children()[0]
    supervisor.stop(patience_s=5)
    assert not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE
    assert supervisor.groups() == []


def test_a_process_that_ignores_the_polite_signal_is_killed_when_patience_is_over(make: object, tmp_path: Path) -> None:
    supervisor = make(
        "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)", Told()
    )  # type: ignore[operator]
    (group,) = supervisor.groups()
    wait_for(lambda: "deaf" in (tmp_path / "log" / "thing.log").read_text(), seconds=10)
    begun = time.monotonic()
    supervisor.stop(patience_s=0.5)
    assert 0.4 < time.monotonic() - begun < 4
    assert not psutil.pid_exists(group)


def test_a_long_log_is_turned_over_and_its_writer_goes_on_in_the_new_one(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    with log.open("ab") as writer:
        for number in range(4):
            writer.write(b"x" * 100 + str(number).encode())
            writer.flush()
            assert turn_over(log, limit=50, kept=3)
        writer.write(b"after")
    assert log.read_bytes() == b"after"
    assert [path.read_bytes()[-1:] for path in sorted(tmp_path.glob("a.log.*"))] == [b"3", b"2", b"1"]
    assert not turn_over(log, limit=50)


def test_the_log_of_the_embedded_server_is_turned_over_at_the_start_and_later(tmp_path: Path) -> None:
    server, clock = EmbeddedServer(tmp_path, tmp_path / "socket"), Clock()
    supervisor = Supervisor([], Told(), tmp_path, server, clock=clock)
    server.log.parent.mkdir()
    for turned, again in ((1, supervisor.start), (2, supervisor.look)):
        server.log.write_bytes(b"x" * (MAX_LOG_BYTES + 1))
        clock.now += 6
        again()
        assert (server.log.stat().st_size, len(list(server.log.parent.glob("valkey.log.*")))) == (0, turned)
    supervisor.stop(patience_s=1)


SLOW = """
import json.tool, sys, time
print("serves", sys.argv[1:], repr(sys.stdin.read()), flush=True)
time.sleep(600)
"""


@pytest.fixture
def ready(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor of a service that is worth a spare, and its spare."""
    (tmp_path / "slow.py").write_text(SLOW)
    env = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"} | {"PYTHONPATH": str(ROOT)}
    argv = (sys.executable, "-m", "slow", "--number", "1")
    slow = Service("thing", argv, tmp_path / "log" / "thing.log", env, tmp_path, loads=("json.tool",))
    clock = Clock()
    supervisor = Supervisor([slow], Told(), tmp_path, clock=clock, spares=True)
    supervisor.start()
    supervisor.look()
    assert len(supervisor.groups()) == 1, "what starts is not held up by loading a spare"
    clock.now += SPARE_AFTER_S + 1
    supervisor.look()
    yield supervisor
    supervisor.stop(patience_s=1)


def kill(supervisor: Supervisor, group: int) -> None:
    os.killpg(group, signal.SIGKILL)
    wait_for(lambda: supervisor.look() or group not in supervisor.groups(), seconds=5)


def test_a_spare_becomes_the_service_that_dies_with_its_arguments_and_its_log(ready: Supervisor, tmp_path: Path) -> None:
    log = tmp_path / "log" / "thing.log"
    wait_for(lambda: log.read_text().count("serves") == 1, seconds=10)
    first, waiting = ready.groups()
    assert spare.waits(psutil.Process(waiting))
    kill(ready, first)
    assert ready.groups() == [waiting]
    wait_for(lambda: log.read_text().count("serves ['--number', '1'] ''") == 2, seconds=10)


def test_the_next_death_finds_the_next_spare_and_without_one_the_service_starts_as_any_other(ready: Supervisor) -> None:
    first, waiting = ready.groups()
    kill(ready, waiting)
    assert ready.groups() == [first], "it is made again in time, not at once"
    kill(ready, first)
    (third,) = ready.groups()
    ready.clock.now += SPARE_AFTER_S + 1  # type: ignore[attr-defined]
    ready.look()
    assert len(ready.groups()) == 2
    kill(ready, third)
    assert len(ready.groups()) == 1


def test_a_spare_that_nobody_needs_any_more_ends_whether_it_is_told_or_not(ready: Supervisor, tmp_path: Path) -> None:
    alone = spare.Spare(ready.children[0].service)
    alone.process.stdin.close()  # as when `up` is killed
    assert alone.process.wait(10) == 0
    assert alone.become(ready.children[0].service) is None
    _, waiting = ready.groups()
    ready.stop(patience_s=5)
    assert not psutil.pid_exists(waiting)
