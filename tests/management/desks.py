"""A real desk for the tests: `manage.py up` on a fresh home and a free port, with its processes in sight."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from tasks_app.management import spare
from tasks_app.management.sockets import socket_path
from tests import prepared

ROOT = Path(__file__).resolve().parents[2]
WORDS = {"web": "daphne", "worker": "dashboard.worker", "valkey": "valkey-server", "watchdog": "tasks_app.management.watchdog"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(what: Callable[[], object], *, seconds: float) -> float:
    """Return how many seconds it took until `what` was true; fails loudly otherwise."""
    begun = time.monotonic()
    while not what():
        assert time.monotonic() - begun < seconds, f"not within {seconds} s"
        time.sleep(0.02)
    return time.monotonic() - begun


class RunningDesk:
    """One `up` with its output in a file."""

    def __init__(
        self,
        home: Path,
        port: int,
        *arguments: str,
        env: dict[str, str] | None = None,
        fresh: bool = False,
        before: Sequence[str] = (),
    ) -> None:
        """`fresh`: on a home that nobody has used; else its database is migrated already. `before`: words before the command."""
        self.home, self.port = home, port
        self.output = home.with_suffix(".out")
        if not fresh and "DATABASE_URL" not in (env or {}):
            prepared.home(home)
        argv = [*before, sys.executable, "manage.py", "up", "--no-browser", "--port", str(port), *arguments]
        clean = {name: value for name, value in os.environ.items() if name not in {"REDIS_URL", "DATABASE_URL"}}
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(
                argv,
                cwd=ROOT,
                env={**clean, "CREWDESK_HOME": str(home), "COLUMNS": "200", **(env or {})},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def text(self) -> str:
        return self.output.read_text("utf-8", "replace")

    def link(self) -> str:
        found = re.search(r"http://127\.0\.0\.1:\d+/\S+-\w+/?", self.text())
        return found[0] if found else ""

    def wait_ready(self) -> "RunningDesk":
        wait_for(lambda: self.link() or self.process.poll() is not None, seconds=60)
        assert self.process.poll() is None, self.text()
        return self

    def pids(self, name: str) -> list[int]:
        """Return the pids of what serves this home in that role. Found by environment or command line, not by parent.

        A server whose socket lies elsewhere (the path of this home is too long for it) shows neither.
        """
        found, listens = [], str(socket_path(self.home))
        for process in psutil.process_iter(["pid"]):
            try:
                line = " ".join(process.cmdline())
                ours = str(self.home) in line or listens in line or process.environ().get("CREWDESK_HOME") == str(self.home)
                if ours and WORDS[name] in line and process.status() != psutil.STATUS_ZOMBIE and not spare.waits(process):
                    found.append(process.pid)
            except psutil.Error:
                continue
        return found

    def children(self) -> dict[str, int]:
        """Return one pid of each role that is filled."""
        return {name: pids[-1] for name in WORDS if (pids := self.pids(name))}

    def status(self, path: str = "/sign-in/", *, patience_s: float = 5) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=patience_s) as answer:
                return int(answer.status)
        except OSError:
            return 0

    def end(self) -> None:
        """End it however it is; for the tear-down."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pid in self.children().values():
            os.kill(pid, signal.SIGKILL)
