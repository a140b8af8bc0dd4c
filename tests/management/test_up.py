"""`manage.py up`, for real: start, restart of what dies, one sign-in link, an end without leftovers."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks_app.management.sockets import socket_path
from tests.management.desks import ROOT, WORDS, RunningDesk, free_port, wait_for

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDesk]:
    """One for the tests that leave it as they find it; the last of them ends it."""
    running = RunningDesk(tmp_path_factory.mktemp("up") / "home", free_port(), fresh=True)
    try:
        yield running.wait_ready()
    finally:
        running.end()


def test_a_fresh_home_serves_the_sign_in_page_and_survives_the_death_of_each_process(desk: RunningDesk) -> None:
    assert desk.status() == 200
    assert (desk.home / "crewdesk.sqlite3").exists()
    before = desk.children()
    assert set(before) == set(WORDS)
    for name, pid in before.items():
        os.kill(pid, signal.SIGKILL)
        # a spare that takes a worker's place is told from one that waits only when it has loaded: that takes what it takes
        begun = time.monotonic()
        if name == "worker":
            wait_for(lambda: "The worker was killed by signal 9: starting it again" in desk.text(), seconds=5)
        else:
            wait_for(lambda name=name, pid=pid: desk.children().get(name, pid) != pid, seconds=5)
        took = time.monotonic() - begun
        assert took < 1, f"the {name} was started again after {took:.1f} s"
        wait_for(lambda name=name, pid=pid: desk.children().get(name, pid) != pid, seconds=20)
    wait_for(lambda: desk.status() == 200, seconds=20)
    assert "was killed by signal 9" in desk.text()


def test_a_second_up_on_the_same_home_shows_a_link_of_the_first(desk: RunningDesk) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "up", "--no-browser", "--port", str(free_port())],
        cwd=ROOT,
        env={**os.environ, "CREWDESK_HOME": str(desk.home)},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    assert "already runs" in done.stdout
    assert f"http://127.0.0.1:{desk.port}/" in done.stdout
    assert desk.status() == 200


def test_the_link_that_it_prints_is_in_no_log_of_it(desk: RunningDesk) -> None:
    path = desk.link().partition(str(desk.port))[2]
    token = path.strip("/").rpartition("/")[2]
    assert [desk.status(path), desk.status(f"/nope{path}"), desk.status(f"{path[:-2]}/")] == [200, 0, 0]  # opened; 404; 403
    logs = "".join(log.read_text("utf-8", "replace") for log in (desk.home / "log").iterdir())
    assert "/sign-in/***" in logs
    assert token[:-1] not in logs


def test_an_interrupt_ends_everything_within_ten_seconds(desk: RunningDesk) -> None:
    begun = time.monotonic()
    desk.process.send_signal(signal.SIGINT)
    assert desk.process.wait(timeout=12) == 0
    assert time.monotonic() - begun < 10
    assert desk.children() == {}
    assert not socket_path(desk.home).exists()
    assert "Ended: web server, worker, Valkey. No agent was in the middle of a task." in desk.text()
    assert f"Everything is kept in {desk.home}" in desk.text()


def test_a_killed_up_leaves_no_process_behind(tmp_path: Path) -> None:
    desk = RunningDesk(tmp_path / "home", free_port()).wait_ready()
    assert desk.children()
    desk.process.kill()
    desk.process.wait()
    wait_for(lambda: desk.children() == {}, seconds=12)


def test_two_web_servers_share_the_port_and_are_replaced_one_by_one_without_a_lost_request(tmp_path: Path) -> None:
    running = RunningDesk(tmp_path / "home", free_port(), "--webs", "2", env={"CREWDESK_WORKER_SLOTS": "1"})
    asked, stop = [], threading.Event()

    def ask() -> None:
        while not stop.is_set():
            asked.append(running.status(patience_s=30))  # it may wait, but not in vain

    asking = threading.Thread(target=ask)
    try:
        running.wait_ready()
        wait_for(lambda: len(running.pids("web")) == 2, seconds=20)
        asking.start()
        for pid in running.pids("web"):
            before = len(asked)
            os.kill(pid, signal.SIGTERM)
            wait_for(lambda pid=pid: pid not in running.pids("web") and len(running.pids("web")) == 2, seconds=15)
            wait_for(lambda before=before: len(asked) > before + 5, seconds=20)
    finally:
        stop.set()
        asking.join()
        running.end()
    assert set(asked) == {200}


def test_a_port_in_use_is_named_with_a_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        running = RunningDesk(tmp_path / "home", taken.getsockname()[1])
        try:
            assert running.process.wait(timeout=30) == 1
            assert f"Port {running.port} is in use" in running.text()
            assert "--port" in running.text()
            assert "Traceback" not in running.text()
        finally:
            running.end()


def test_a_database_that_cannot_be_reached_ends_the_start_with_a_sentence_without_its_password(tmp_path: Path) -> None:
    url = f"postgres://crew:topsecretword@127.0.0.1:{free_port()}/crew"
    running = RunningDesk(tmp_path / "home", free_port(), env={"DATABASE_URL": url})
    try:
        assert running.process.wait(timeout=60) == 1
        assert "cannot be prepared" in running.text()
        assert "topsecretword" not in running.text()
        assert "Traceback" not in running.text()
    finally:
        running.end()
