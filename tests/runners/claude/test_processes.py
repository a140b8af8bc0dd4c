"""Every process of a run is found and ended, and never another one."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tasks_app.domain.ids import new_id
from tasks_app.runners.claude import launcher, processes, watchdog
from tests import setsid
from tests.runners.claude.conftest import until

PYTHON = sys.executable
SLEEP = (PYTHON, "-c", "import time; time.sleep(600)")
"""Not sleep(1): macOS shows nobody the environment of its own programs, and so not the marker."""


class Yard:
    """Starts processes that are gone when the test is."""

    def __init__(self) -> None:
        self.run_id = new_id("r")
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *command: str, fence: int | None = 1, run_id: str = "", session: bool = True) -> subprocess.Popen[bytes]:
        """Start a command, marked unless `fence` is None."""
        env = {"PATH": os.environ["PATH"]}
        if fence is not None:
            env[launcher.MARKER] = launcher.marker(run_id or self.run_id, fence)
        process = subprocess.Popen(command, env=env, start_new_session=session, stdout=subprocess.PIPE)
        self.started.append(process)
        return process

    def pids(self) -> set[int]:
        """What is alive of the run by its marker."""
        return {one.pid for one in processes.marked() if one.run_id == self.run_id}


@pytest.fixture
def yard() -> Iterator[Yard]:
    """A yard, swept afterwards."""
    yard = Yard()
    yield yard
    for process in yard.started:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


async def test_the_whole_tree_is_killed_whatever_left_its_session_or_its_environment(yard: Yard) -> None:
    inner = "setsid sleep 601 & env -i /bin/sh -c 'sleep 602 & sleep 603' & sleep 604"
    yard.start(PYTHON, "-c", f"import subprocess, time; subprocess.run({['sh', '-c', inner]})")
    await until(yard.pids)
    names = {"601", "602", "603", "604"}

    def sleeping() -> set[str]:
        lines = (one.info["cmdline"] for one in psutil.process_iter(["cmdline"]))
        return {line[1] for line in lines if line and line[0] == "sleep" and len(line) > 1} & names

    await until(lambda: sleeping() == names)
    assert await processes.kill_run(yard.run_id, term_s=0.5)
    assert yard.pids() == set()
    assert sleeping() == set()


async def test_what_ignores_term_is_killed_after_the_grace(yard: Yard) -> None:
    process = yard.start(
        PYTHON, "-c", "import signal,time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    )
    assert process.stdout
    process.stdout.readline()
    began = time.monotonic()
    assert await processes.kill_run(yard.run_id, term_s=0.3)
    assert time.monotonic() - began >= 0.3
    assert process.wait(5) == -signal.SIGKILL


async def test_what_outlives_its_parent_s_end_is_killed_though_it_shows_no_marker(yard: Yard) -> None:
    """As the programs of macOS do: known by descent alone, until TERM has ended what it descends from."""
    deaf = "import os, signal; os.setsid(); signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True); " + SLEEP[2]
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {deaf!r}], env={{}})"
    parent = yard.start(PYTHON, "-c", code)
    assert parent.stdout
    pid = int(await asyncio.to_thread(parent.stdout.readline))
    assert pid not in yard.pids()
    assert await processes.kill_run(yard.run_id, term_s=0.5)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_other_runs_and_unmarked_processes_are_left_alone(yard: Yard) -> None:
    other = yard.start(*SLEEP, run_id=new_id("r"))
    plain = yard.start(*SLEEP, fence=None)
    mine = yard.start(*SLEEP)
    await until(lambda: yard.pids() == {mine.pid})
    assert await processes.kill_run(yard.run_id, term_s=0)
    assert other.poll() is None
    assert plain.poll() is None


async def test_only_earlier_fences_are_killed_where_asked(yard: Yard) -> None:
    old, new = yard.start(*SLEEP, fence=1), yard.start(*SLEEP, fence=2)
    await until(lambda: yard.pids() == {old.pid, new.pid})
    assert await processes.kill_run(yard.run_id, below_fence=2, term_s=0)
    assert old.wait(5) == -signal.SIGKILL
    assert new.poll() is None


async def test_a_reused_pid_is_never_killed(yard: Yard) -> None:
    """N37: a process object remembers when its process began; another one under the same pid is not it."""
    innocent = yard.start(*SLEEP, fence=None)
    remembered = psutil.Process(innocent.pid)
    remembered._create_time = remembered.create_time() - 1000
    remembered._ident = (remembered.pid, remembered._create_time)
    processes._signal([processes._Row(remembered, remembered.pid, remembered._create_time, 0, 0, 0)], None)
    await asyncio.sleep(0.1)
    assert innocent.poll() is None


async def test_only_earlier_fences_of_that_run_are_ended(yard: Yard) -> None:
    process = yard.start(*SLEEP, fence=3)
    await until(lambda: yard.pids() == {process.pid})
    assert await processes.kill_run("another", below_fence=9, term_s=0)
    assert await processes.kill_run(yard.run_id, below_fence=3, term_s=0)
    assert process.poll() is None
    assert await processes.kill_run(yard.run_id, below_fence=4, term_s=0)
    assert process.wait(5) == -signal.SIGKILL


async def test_a_run_without_processes_is_gone(yard: Yard) -> None:
    assert await processes.kill_run(yard.run_id)


def test_markers_are_read_back_and_nonsense_is_none() -> None:
    assert launcher.parse_marker(launcher.marker("r7k20xq9f", 3)) == ("r7k20xq9f", 3)
    for nonsense in ("", ":", "run", "run:", ":3", "run:x", "run:-1"):
        assert launcher.parse_marker(nonsense) is None


# -- how a process is started


def script(tmp_path: Path, text: str) -> str:
    """An executable that stands for the CLI."""
    path = tmp_path / "cli"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def started(tmp_path: Path, cli: str, *arguments: str, **extra: str) -> subprocess.Popen[bytes]:
    """Start `cli` as the SDK would: with the worker's whole environment and ours over it."""
    launch = launcher.prepare({"LANG": "C.UTF-8"}, run_id="rtest0001", fence=7, home=tmp_path / "home", cli=cli)
    env = {**os.environ, "SECRET_KEY": "hidden", "WITH\nNEWLINE": "a\nb", **launch.env, **extra}
    return subprocess.Popen([str(launch.cli_path), *arguments], env=env, stdout=subprocess.PIPE, stdin=subprocess.PIPE)


def test_only_the_allowed_environment_reaches_the_process(tmp_path: Path) -> None:
    out, _ = started(tmp_path, script(tmp_path, "env; echo args: $*"), "--flag", "a b").communicate(timeout=10)
    lines = out.decode().splitlines()
    names = {line.partition("=")[0] for line in lines if "=" in line}
    assert "SECRET_KEY" not in names
    assert not {name for name in names if name.startswith("CREWDESK_")} - {"CREWDESK_RUN"}
    assert {"HOME", "CLAUDE_CONFIG_DIR", "TMPDIR", "LANG", "CREWDESK_RUN"} <= names
    assert "CREWDESK_RUN=rtest0001:7" in lines
    assert "args: --flag a b" in lines


def test_the_process_leads_its_own_session_and_its_pid_is_known(tmp_path: Path) -> None:
    process = started(tmp_path, script(tmp_path, "echo up; cat > /dev/null"))
    assert process.stdout
    process.stdout.readline()
    assert os.getsid(process.pid) == os.getpgid(process.pid) == process.pid
    assert (tmp_path / "home" / "claude-7-1.pid").read_text() == str(process.pid)
    process.communicate(timeout=10)


def test_the_private_folders_are_closed_to_others(tmp_path: Path) -> None:
    launcher.prepare({}, run_id="rtest0001", fence=1, home=tmp_path / "home")
    for name in (".", ".claude", "tmp"):
        assert (tmp_path / "home" / name).stat().st_mode & 0o077 == 0


PARENT = """
import os, subprocess, sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from tasks_app.runners.claude import launcher
launch = launcher.prepare({{}}, run_id={run_id!r}, fence=1, home=Path({home!r}), cli={cli!r})
process = subprocess.Popen([str(launch.cli_path)], env={{**os.environ, **launch.env, "CREWDESK_WATCHDOG": {watchdog!r}}},
    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
process.stdout.readline()
print(process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("watchdog", "left"),
    [
        pytest.param("0", 1, marks=pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has the watchdog alone")),
        ("1", 0 if shutil.which("ps") else 1),
    ],
)
async def test_a_process_dies_with_its_worker_and_its_children_are_found_by_marker(
    yard: Yard, tmp_path: Path, watchdog: str, left: int
) -> None:
    """`watchdog` is the way of systems without PR_SET_PDEATHSIG: it ends the children, too, as macOS hides their marker."""
    sleep = f"{SLEEP[0]} -c '{SLEEP[2]}'"
    cli = script(tmp_path, f"{setsid.provide(tmp_path)} {sleep} & echo up; exec {sleep}")
    root = str(Path(__file__).parents[3])
    code = PARENT.format(root=root, run_id=yard.run_id, home=str(tmp_path / "home"), cli=cli, watchdog=watchdog)
    parent = yard.start(PYTHON, "-c", code, fence=None)
    assert parent.stdout
    pid = int(await asyncio.to_thread(parent.stdout.readline))
    await until(lambda: len(yard.pids()) >= 2)
    parent.kill()
    parent.wait()
    await until(lambda: pid not in yard.pids(), within_s=3)
    await until(lambda: len(yard.pids()) <= left, within_s=3)
    assert len(yard.pids()) == left  # after PR_SET_PDEATHSIG the grandchild lives on: only the marker finds it
    assert await processes.kill_run(yard.run_id, term_s=0.5)
    assert yard.pids() == set()


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps (Debian: apt-get install procps)")
async def test_the_watchdog_knows_what_a_killed_process_leaves_and_kills_nobody_else(yard: Yard) -> None:
    """What shows no marker, as the programs that come with macOS, is known by descent, and by its start once that is gone."""
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); {SLEEP[2]}'], env={{}})"
    cli, innocent = yard.start(PYTHON, "-c", code), yard.start(*SLEEP, fence=None)
    assert cli.stdout
    await asyncio.to_thread(cli.stdout.readline)
    (child,) = psutil.Process(cli.pid).children()
    known = watchdog._descendants(cli.pid, {})
    assert list(known) == [child.pid]
    cli.kill()
    cli.wait()
    assert watchdog._descendants(cli.pid, known) == known
    assert watchdog._descendants(cli.pid, {}) == {}, "nobody else could tell"
    watchdog._kill_all({**known, innocent.pid: "the start of another process that had this pid"})
    await until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    assert innocent.poll() is None


async def test_a_process_whose_worker_is_already_gone_never_begins(tmp_path: Path) -> None:
    process = started(tmp_path, script(tmp_path, "echo begun"), CREWDESK_PARENT="1")
    out, _ = await asyncio.to_thread(process.communicate, timeout=10)
    assert out == b""
    assert process.returncode == 3
