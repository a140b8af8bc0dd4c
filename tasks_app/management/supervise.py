"""Keeps the processes of `up` alive: starts them, restarts what dies, turns their logs over and ends them all in order."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tasks_app import own_memory
from tasks_app.management import processes, watchdog
from tasks_app.management.embedded import EmbeddedServer
from tasks_app.management.service import Service
from tasks_app.management.spare import Spare

STILL_S = 60.0
"""A process that is stopped (SIGSTOP, not a debugger) for so long is ended: what it holds of SQLite holds up everybody."""
STEADY_S = 10.0
"""A process that lived this long was well: its next death counts as the first."""
MAX_PAUSE_S = 30.0
TELL_AFTER = 3
"""From this many quick deaths on, the end of the log is shown with each."""
SPARE_AFTER_S = 5.0
"""A spare is made when nothing has been started for so long: loading it must not hold up what starts."""
MAX_LOG_BYTES = 5 * 1024 * 1024
KEPT_LOGS = 3

Tell = Callable[[str, Sequence[str]], None]


@dataclass
class Child:
    """A service with the process that serves it now."""

    service: Service
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    quick_deaths: int = 0
    still_since: float | None = None


def pause_s(quick_deaths: int) -> float:
    """Return how long to wait before the next start: nothing after the first death, then doubling from 0.5 s to 30 s."""
    return 0.0 if quick_deaths <= 1 else min(MAX_PAUSE_S, 0.5 * 2.0 ** min(quick_deaths - 2, 10))


def turn_over(log: Path, *, limit: int = MAX_LOG_BYTES, kept: int = KEPT_LOGS) -> bool:
    """Turn a log over (log.1, log.2, …) when it is larger than `limit` bytes; its writer keeps its open file."""
    if not log.exists() or log.stat().st_size <= limit:
        return False
    for number in range(kept - 1, 0, -1):
        older = log.with_name(f"{log.name}.{number}")
        if older.exists():
            older.replace(log.with_name(f"{log.name}.{number + 1}"))
    log.with_name(f"{log.name}.1").write_bytes(log.read_bytes())
    with log.open("r+b") as file:
        file.truncate(0)  # writers append, so they go on at the new end
    return True


@dataclass
class Supervisor:
    """Starts services in order, restarts what dies in `look`, ends them in `stop`. `tell` gets a sentence and log lines.

    `spares`: one process is kept ready for a service that loads for long; it takes the place of the next of them that dies.
    """

    services: Sequence[Service]
    tell: Tell
    home: Path
    server: EmbeddedServer | None = None  # its log is turned over with the others; the watchdog ends it if we cannot
    clock: Callable[[], float] = time.monotonic
    spares: bool = False
    children: list[Child] = field(default_factory=list, init=False)
    _watchdog: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _logs_looked_at: float = field(default=0.0, init=False)
    _spare: Spare | None = field(default=None, init=False)
    _started_at: float = field(default=0.0, init=False)  # the last start of anything

    def start(self) -> None:
        """Start everything once."""
        self.children = [Child(service) for service in self.services]
        self._turn_logs_over()
        for child in self.children:
            self._start(child)

    def look(self) -> None:
        """Look at each process once: restart what died and is due, tell about it, keep the watchdog informed."""
        for child in self.children:
            self._look_at(child)
        if self.spares and self.clock() - self._started_at > SPARE_AFTER_S:
            self._keep_a_spare()
        if self._watchdog is None or self._watchdog.poll() is not None:
            self._inform_watchdog()
        if self.clock() - self._logs_looked_at > 5:
            self._logs_looked_at = self.clock()
            self._turn_logs_over()

    def _turn_logs_over(self) -> None:
        for log in [child.service.log for child in self.children] + ([self.server.log] if self.server is not None else []):
            turn_over(log)

    def stop(self, *, patience_s: float) -> None:
        """End all groups together: TERM, then KILL after `patience_s`; then tell the watchdog that nothing is left to do."""
        running = [child.process for child in self.children if child.process is not None]
        running += [self._spare.process] if self._spare is not None else []
        self.children, self._spare = [], None
        processes.end_groups([process.pid for process in running], patience_s=patience_s)
        for process in running:
            process.poll()  # no zombie is left behind
        self._dismiss_watchdog()

    def kill(self, groups: Sequence[int]) -> None:
        """Kill groups at once, for a person who cannot wait."""
        for group in groups:
            processes.signal_group(group, signal.SIGKILL)

    def _look_at(self, child: Child) -> None:
        now = self.clock()
        if child.process is None:
            if now >= child.start_at:
                self._start(child)
            return
        code = child.process.poll()
        if code is None and self._stands_still(child, now):
            self.tell(f"The {child.service.name} stood still for {STILL_S:.0f} s: ended.", ())
            self.kill([child.process.pid])
            code = child.process.wait()
        if code is None:
            return
        processes.end_groups([child.process.pid], patience_s=0.0)  # what the dead leader left in its group
        child.process, child.still_since = None, None
        child.quick_deaths = child.quick_deaths + 1 if now - child.started_at < STEADY_S else 1
        child.start_at = now + pause_s(child.quick_deaths)
        self._tell_death(child, code)
        if now >= child.start_at:
            self._start(child)

    def _stands_still(self, child: Child, now: float) -> bool:
        """Whether somebody has stopped the process, and has not let it go on for `STILL_S`."""
        if child.process is None or not processes.is_stopped(child.process.pid):
            child.still_since = None
            return False
        child.still_since = now if child.still_since is None else child.still_since
        return now - child.still_since >= STILL_S

    def _tell_death(self, child: Child, code: int) -> None:
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        wait = child.start_at - self.clock()
        again = f"starting it again in {wait:.0f} s" if wait >= 1 else "starting it again"
        if child.quick_deaths < TELL_AFTER:
            self.tell(f"The {child.service.name} {how}: {again}.", ())
            return
        times = f"{child.quick_deaths} times in a row"
        self.tell(
            f"The {child.service.name} {how}, {times}: {again}. The end of {child.service.log}:",
            processes.tail(child.service.log, lines=6),
        )

    def _start(self, child: Child) -> None:
        service = child.service
        child.process = self._from_spare(service) or processes.spawn(
            service.argv, log=service.log, env=service.env, cwd=service.cwd, keep=service.keep
        )
        child.started_at = self._started_at = self.clock()
        self._inform_watchdog()

    def _from_spare(self, service: Service) -> subprocess.Popen[bytes] | None:
        """The waiting spare as this service, where it can be that."""
        process = self._spare.become(service) if self._spare is not None else None
        if process is not None:
            self._spare = None
        return process

    def _keep_a_spare(self) -> None:
        if self._spare is not None and self._spare.lives():
            return
        for child in self.children:
            if child.service.loads:
                self._spare, self._started_at = Spare(child.service), self.clock()
                self._inform_watchdog()
                return

    def groups(self) -> list[int]:
        """Return the process groups that run now."""
        serving = [child.process.pid for child in self.children if child.process is not None]
        return serving + ([self._spare.process.pid] if self._spare is not None and self._spare.lives() else [])

    def _inform_watchdog(self) -> None:
        if self._watchdog is None or self._watchdog.poll() is not None:
            self._watchdog = self._start_watchdog()
        self._write(" ".join(str(group) for group in self.groups()))

    def _start_watchdog(self) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", watchdog.__name__, str(self.home), str(self.server.socket if self.server else "")]
        cwd = Path(__file__).resolve().parents[2]
        env = own_memory.plain_environment()
        return subprocess.Popen(argv, stdin=subprocess.PIPE, cwd=cwd, env=env, start_new_session=True, stdout=subprocess.DEVNULL)

    def _write(self, line: str) -> None:
        if self._watchdog is None or self._watchdog.stdin is None:
            return
        try:
            self._watchdog.stdin.write(line.encode() + b"\n")
            self._watchdog.stdin.flush()
        except OSError:
            self._watchdog = None  # it died: the next look starts another

    def _dismiss_watchdog(self) -> None:
        self._write(watchdog.DONE)
        process, self._watchdog = self._watchdog, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
