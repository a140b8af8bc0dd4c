"""An installation in single parts: Valkey, a web server and workers that a benchmark starts, kills and measures by itself."""

import contextlib
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from django.conf import settings
from django.db import connections

from bench.desk import answers, free_port, kill_group, until
from bench.place import ROOT, Place
from tasks_app.management import layout, leftovers, prepare
from tasks_app.management.embedded import EmbeddedServer
from tasks_app.selectors import workers

READY_S = 60.0


@dataclass
class Parts:
    """What was started, so that it can be ended."""

    place: Place
    valkey: EmbeddedServer | None = None
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    port: int = 0

    def web(self) -> subprocess.Popen[bytes]:
        """Start a web server and wait until it answers; `port` is where."""
        self.port = free_port()
        service = layout.web(self.port, home=self.place.home, env=self._env())
        process = self._spawn(service.argv, service.log)
        until(lambda: answers(self.port), seconds=READY_S, words="the web server")
        return process

    def worker(
        self,
        number: int = 1,
        *,
        slots: int = 4,
        app: str = "dashboard.celery",
        host: str = "",
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a worker and wait until it has registered. `host`: under that host name (root only)."""
        given = self._env() | {"CREWDESK_WORKER_SLOTS": str(slots)} | dict(env or {})
        service = layout.worker(number, home=self.place.home, env=given)
        argv = [*service.argv, "--app", app]
        if host:
            argv = ["unshare", "--uts", "sh", "-c", f'hostname {host} && exec "$@"', "sh", *argv]
        process = self._spawn(argv, service.log, given)
        until(lambda: self._registered(process.pid), seconds=READY_S, words=f"worker {number}")
        return process

    def kill(self, process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGKILL) -> None:
        """Signal one process and see it gone."""
        process.send_signal(number)
        process.wait(30)

    def memory(self, process: subprocess.Popen[bytes]) -> int:
        """Return the resident bytes of a process alone, without its children."""
        return int(psutil.Process(process.pid).memory_info().rss)

    def end(self) -> None:
        """End everything, workers first."""
        for process in reversed(self.started):
            if process.poll() is None:
                process.terminate()
        for process in self.started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(8)
            kill_group(process)
        leftovers.end()
        if self.valkey is not None:
            self.valkey.leave()

    def _env(self) -> dict[str, str]:
        return layout.environment(home=self.place.home, rehearse=True)

    def _spawn(
        self, argv: tuple[str, ...] | list[str], log: Path, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        with log.open("ab") as file:
            process = subprocess.Popen(
                list(argv),
                cwd=ROOT,
                env=env or self._env(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def _registered(self, pid: int) -> bool:
        return any(worker.pid == pid for worker in workers.alive())


@contextlib.contextmanager
def running(place: Place) -> Iterator[Parts]:
    """Yield parts with a prepared database and a running Valkey; nothing of them is left afterwards."""
    prepare.everything()
    parts = Parts(place)
    parts.valkey = EmbeddedServer(place.home, Path(settings.VALKEY_SOCKET))
    try:
        parts.valkey.ensure()
        yield parts
    finally:
        parts.end()
        connections.close_all()
