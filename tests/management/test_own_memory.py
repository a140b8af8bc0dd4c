"""What an agent's process of the same user can learn of ours: no setting, neither in the environment nor in memory (Linux)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.management.desks import ROOT, RunningDesk, free_port, wait_for

SECRET = "the-key-that-signs-the-cookies-of-everybody"
POWERLESS = ["setpriv", "--bounding-set", "-all"] if os.geteuid() == 0 else []
"""Root may look at everything: with these words it is a user as any other, the same on both sides."""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux is asked")


def environment_of(pid: int) -> str:
    """Return what another process of the user reads of it; nothing where it may not."""
    seen = subprocess.run([*POWERLESS, "cat", f"/proc/{pid}/environ"], capture_output=True, timeout=10, check=False)
    return seen.stdout.decode()


def started(*words: str, **env: str) -> "subprocess.Popen[str]":
    argv = [*POWERLESS, sys.executable, *words]
    given = {**os.environ, "CREWDESK_SECRET_KEY": SECRET, "CREWDESK_INSPECTABLE": "", **env}
    return subprocess.Popen(argv, cwd=ROOT, env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


CODE = "from tasks_app import own_memory; print(own_memory.keep_private(), flush=True); input()"


@pytest.mark.parametrize(("inspectable", "private"), [("", True), ("1", False)])
def test_nobody_of_the_same_user_reads_it_unless_the_operator_wants_so(inspectable: str, private: bool) -> None:
    with started("-c", CODE, CREWDESK_INSPECTABLE=inspectable) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{private}\n"
        assert (SECRET in environment_of(process.pid)) is not private
        process.kill()


def test_what_it_starts_may_be_looked_at_again_so_that_agents_are_found_by_their_marker() -> None:
    code = f"import subprocess; {CODE.replace('input()', 'subprocess.run([chr(99) + chr(97) + chr(116)])')}"
    with started("-c", code, CREWDESK_RUN="r1:1") as process:
        assert process.stdout is not None
        process.stdout.readline()
        wait_for(lambda: psutil.Process(process.pid).children(), seconds=5)
        (child,) = psutil.Process(process.pid).children()
        wait_for(lambda: "CREWDESK_RUN=r1:1" in environment_of(child.pid), seconds=5)
        child.kill()


def test_a_spare_that_waits_is_private_before_it_has_become_anything() -> None:
    with started("-m", "tasks_app.management.spare", "tasks_app.own_memory") as process:
        wait_for(lambda: "python" in environment_of(process.pid) or not environment_of(process.pid), seconds=5)
        wait_for(lambda: SECRET not in environment_of(process.pid), seconds=10)
        process.kill()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDesk]:
    home = tmp_path_factory.mktemp("private") / "home"
    env = {"CREWDESK_SECRET_KEY": SECRET, "ANTHROPIC_API_KEY": SECRET, "CREWDESK_INSPECTABLE": ""}
    running = RunningDesk(home, free_port(), env=env, before=POWERLESS)
    try:
        yield running.wait_ready()
    finally:
        running.end()


def test_no_process_of_a_desk_shows_a_secret(desk: RunningDesk) -> None:
    own = psutil.Process(desk.process.pid)
    wait_for(lambda: own.children() and len(own.children()) >= 4, seconds=20)
    all_of_it = (own, *own.children(recursive=True))
    lines = "\n".join(" ".join(process.cmdline()) for process in all_of_it)
    for words in ("manage.py up", "daphne", "dashboard.worker", "valkey-server", "tasks_app.management.watchdog"):
        assert words in lines
    wait_for(lambda: not any(SECRET in environment_of(process.pid) for process in all_of_it), seconds=5)  # a spare has just begun


def test_a_powerless_desk_still_ends_whole(desk: RunningDesk) -> None:
    pids = [process.pid for process in psutil.Process(desk.process.pid).children(recursive=True)]
    desk.process.terminate()
    assert desk.process.wait(timeout=15) == 0
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []


def test_the_starter_of_an_agent_is_given_none_of_the_worker_s_settings(tmp_path: Path) -> None:
    code = (
        "import json, os, pathlib; from tasks_app.runners.claude import launcher;"
        f"made = launcher.prepare({{}}, run_id='r1', fence=1, home=pathlib.Path({str(tmp_path)!r}));"
        "print(json.dumps({**os.environ, **made.env}), flush=True)"
    )
    with started("-c", code) as process:
        assert SECRET not in process.communicate(timeout=30)[0]
