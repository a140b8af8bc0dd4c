"""A whole installation in a benchmark's place: `manage.py up` with N workers, its processes in sight, ended for certain."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psutil

from bench.place import ROOT, Place
from tasks_app.management import layout, spare
from tasks_app.runners.claude import launcher

T = TypeVar("T")
READY_S = 90.0
KILLED_S = 20.0
"""Within so long a process that was killed is gone, unless the kernel holds it."""
WORDS = {
    "worker": ("dashboard.worker",),
    "claude": ("--output-format",),
    "web": ("daphne",),
    "valkey": ("valkey-server", "redis-server"),  # embedded.find_binary
}
"""What stands in the command line of a process of that kind: one of these."""


class TooLate(Exception):
    """Something did not come in time."""


def until(what: Callable[[], T], *, seconds: float, pause_s: float = 0.02, words: str = "it") -> T:
    """Return the first true answer of `what`; raises `TooLate` where there is none in time."""
    end = time.monotonic() + seconds
    while not (answer := what()):
        if time.monotonic() > end:
            raise TooLate(f"{words} did not come within {seconds:g} s")
        time.sleep(pause_s)
    return answer


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def of_home(home: Path, kind: str) -> list[psutil.Process]:
    """Return the processes of that kind that belong to the home, found by environment or command line, not by parent."""
    found = [process for process, line in _ours(home) if any(word in line for word in WORDS[kind])]
    return [process for process in found if not _waits(process)]


def _waits(process: psutil.Process) -> bool:
    """Whether it is a spare, or gone since it was found."""
    try:
        return spare.waits(process)
    except psutil.NoSuchProcess:
        return True


def has_ended(process: psutil.Process) -> bool:
    """Whether a process is no more, or a zombie."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def answers(port: int) -> bool:
    """Whether a web server answers on this port of this machine now."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/sign-in/", timeout=5) as answer:
            return int(answer.status) == 200
    except OSError:
        return False


def takes_connections(web: psutil.Process) -> bool:
    """Whether a web server has begun: its event loop waits for a socket that listens (Linux)."""
    try:
        listening = {str(one.fd) for one in web.net_connections("inet") if one.status == psutil.CONN_LISTEN}
        rows = [row.split() for info in Path(f"/proc/{web.pid}/fdinfo").iterdir() for row in info.read_text().splitlines()]
    except (psutil.Error, OSError):
        return False
    return any(row[:1] == ["tfd:"] and row[1] in listening for row in rows)


def spares_of_home(home: Path) -> list[psutil.Process]:
    """Return the processes of the home that wait to become a worker."""
    return [process for process, _ in _ours(home) if spare.waits(process)]


def all_of_home(home: Path) -> list[str]:
    """Return the command lines of whatever still belongs to the home, agents' shells included."""
    return [f"{process.pid} {line[:100]}" for process, line in _ours(home)]


def runs_of_home(home: Path) -> list[tuple[str, int, str]]:
    """Return whatever runs for agents of the home: run, fence, and pid with command line."""
    found = []
    for process, line in _ours(home):
        with contextlib.suppress(psutil.Error):
            if marked := launcher.parse_marker(process.environ().get(launcher.MARKER, "")):
                found.append((*marked, f"{process.pid} {line[:100]}"))
    return found


def _ours(home: Path) -> Iterator[tuple[psutil.Process, str]]:
    for process in psutil.process_iter(["pid"]):
        try:
            line = " ".join(process.cmdline())
            ours = str(home) in line or any(str(home) in value for value in process.environ().values())
            if ours and process.status() != psutil.STATUS_ZOMBIE and not _only_looks(process):
                yield process, line
        except (psutil.Error, ProcessLookupError):
            continue


def _only_looks(process: psutil.Process) -> bool:
    """Our own process and its descendants in its group, which carry the home in their environment too.

    Whatever belongs to an installation was started in a session of its own, or by somebody who was.
    """
    if process.pid == os.getpid():
        return True
    return os.getpgid(process.pid) == os.getpgrp() and any(parent.pid == os.getpid() for parent in process.parents())


@dataclass
class Desk:
    """One `up`. `more` holds processes started beside it; `end` ends everything that belongs to the home."""

    place: Place
    workers: int = 1
    webs: int = 1
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    more: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> "Desk":
        """Start it and wait until the pages answer."""
        argv = [sys.executable, "manage.py", "up", "--no-browser", "--rehearse"]
        argv += ["--port", str(self.port), "--workers", str(self.workers), "--webs", str(self.webs)]
        with self.output.open("ab") as file:
            self.process = subprocess.Popen(
                argv, cwd=ROOT, env=self.place.env | {"COLUMNS": "200"}, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                start_new_session=True,
            )  # fmt: skip
        until(self._up, seconds=READY_S, words="the desk")
        return self

    @property
    def output(self) -> Path:
        """What `up` has said; beside the home, which may be a full disk."""
        return self.place.home.with_suffix(".out")

    def text(self) -> str:
        """Return the end of what `up` has said."""
        return self.output.read_text("utf-8", "replace")[-3000:] if self.output.exists() else ""

    def extra_worker(self, number: int, *, app: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a worker beside `up`, as number `number`, with an app of its own and more in its environment."""
        service = layout.worker(number, home=self.place.home, env=self.place.env | dict(env))
        argv = [*service.argv, "--app", app]
        with service.log.open("ab") as file:
            started = subprocess.Popen(
                argv, cwd=ROOT, env=service.env, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
            )
        self.more.append(started)
        return started

    def _up(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError(f"up ended with {self.process.returncode}: {self.text()}")
        return "Sign in" in self.text() and self.answers()

    def answers(self) -> bool:
        """Whether the web server answers now."""
        return answers(self.port)

    def missing(self) -> list[str]:
        """What of it is not there now: `up` itself, a page, or a process of each that it was to start."""
        assert self.process is not None
        if (code := self.process.poll()) is not None:
            return [f"up had ended with {code}"]
        wanted = {"worker": self.workers, "web": self.webs, "valkey": 1}
        counts = {kind: len(of_home(self.place.home, kind)) for kind in wanted}
        found = [f"{counts[kind]} of {count} {kind} processes" for kind, count in wanted.items() if counts[kind] != count]
        return found + ([] if self.answers() else ["no page comes"])

    def link(self) -> str:
        """Return a fresh sign-in link."""
        found = re.search(r"http://\S+", self.place.manage("sign_in_link").stdout)
        path = re.sub(r"^http://[^/]+", "", found[0]) if found else ""
        return f"http://127.0.0.1:{self.port}{path}"

    def leave(self) -> float:
        """End it in order; returns how many seconds that took. `process` tells whether, and with which code, it ended."""
        begun = time.monotonic()
        for each in self.more:
            kill_group(each)
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
        return time.monotonic() - begun

    def end(self) -> None:
        """End it however it is: in order, then by force."""
        self.leave()
        if self.process is not None:
            kill_group(self.process)
        for process, _ in list(_ours(self.place.home)):
            with contextlib.suppress(psutil.Error):
                process.kill()
        self.output.unlink(missing_ok=True)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the group that a process leads and see the process gone; one that stays is left to whoever looks for leftovers."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(KILLED_S)


@contextlib.contextmanager
def running(place: Place, *, workers: int = 1, webs: int = 1) -> Iterator[Desk]:
    """Yield a started desk; nothing of it is left afterwards."""
    desk = Desk(place, workers, webs)
    try:
        yield desk.start()
    finally:
        desk.end()
