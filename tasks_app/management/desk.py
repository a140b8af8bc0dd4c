"""What `manage.py up` does: one home, its servers and workers, from the first check to the last process gone."""

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connections
from django.urls import reverse

from tasks_app import wake
from tasks_app.domain.errors import Invalid, Unavailable
from tasks_app.management import browser, credentials, layout, leftovers, ports, prepare, sign_in, words
from tasks_app.management.embedded import EmbeddedServer
from tasks_app.management.locks import FileLock
from tasks_app.management.screen import Screen
from tasks_app.management.service import Service
from tasks_app.management.supervise import Supervisor
from tasks_app.selectors import access, teams
from tasks_app.selectors.accounts import Account

READY_S = 60.0
MAX_WORKERS = 64
MAX_WEBS = 16
LOOK_S = 0.1
STOP_S = 7.0  # with the embedded server's own 3 s this keeps the promise of 10
SECOND_SIGNAL_S = 1.0
HOPELESS = 3
"""So many quick deaths of one process before the desk was ever ready end the start."""


@dataclass(frozen=True)
class Options:
    """What a person asked of `up`."""

    port: int = 8400
    browser: bool = True
    workers: int = 1
    webs: int = 1
    rehearse: bool = False
    typed: tuple[str, ...] = ()  # the options as they were typed, for the words where they come too late


class Stop(Exception):
    """A signal asked to end."""


def run(options: Options, screen: Screen) -> int:
    """Serve until a signal; returns the exit code. Raises `Unavailable` when it cannot start."""
    if not 1 <= options.workers <= MAX_WORKERS:
        raise Invalid(f"--workers {options.workers} is outside 1 to {MAX_WORKERS}.", field="workers")
    if not 1 <= options.webs <= MAX_WEBS:
        raise Invalid(f"--webs {options.webs} is outside 1 to {MAX_WEBS}.", field="webs")
    ports.valid(options.port)
    home = prepare.home()
    lock = FileLock(home / "run" / "up.lock")
    if not lock.exclusive():
        return _say_that_it_runs(home, screen, options)
    try:
        with ports.listen(options.port) as listener:
            with screen.working("Preparing the database and the first account"):
                prepare.everything()
            return _Desk(options, screen, home, listener.fileno()).serve()
    finally:
        (home / "run" / "up.json").unlink(missing_ok=True)
        lock.release()


def _say_that_it_runs(home: Path, screen: Screen, options: Options) -> int:
    facts = running(home)
    if facts is None:
        raise Unavailable(f"Another `up` is just starting or ending on {home}. Try again in a few seconds.")
    screen.headline("Crewdesk already runs here", f"process {facts['pid']}, home {home}")
    screen.link("Sign in", sign_in_link(int(facts["port"])))
    if late := [words for words in options.typed if words != f"--port {facts['port']}"]:
        screen.warn(
            f"It goes on as it was started, on port {facts['port']}, without {' '.join(late)}. End it first to change that."
        )
    return 0


def running(home: Path) -> dict[str, Any] | None:
    """Return {"pid", "port", "rehearse"} of the `up` that serves this home, or None."""
    lock = FileLock(home / "run" / "up.lock")
    if not (home / "run" / "up.json").exists() or lock.exclusive():
        lock.release()
        return None
    try:
        facts: dict[str, Any] = json.loads((home / "run" / "up.json").read_text())
    except (OSError, ValueError):
        return None
    return facts


def address(port: int) -> str:
    """Return where the pages are: the first of CREWDESK_ORIGINS, else this machine's port."""
    return str(settings.ORIGINS[0]).rstrip("/") if settings.ORIGINS else f"http://{ports.HOST}:{port}"


def sign_in_link(port: int, account: Account | None = None) -> str:
    """Return a fresh one-time link for that account, else for the first superuser. Raises `Conflict` for a disabled one."""
    token = sign_in.make_link_token(sign_in.user_of(account) if account else sign_in.ensure_lead())
    connections.close_all()
    return address(port) + reverse("first-sign-in", args=[token])


class _Desk:
    """One serving of one home."""

    def __init__(self, options: Options, screen: Screen, home: Path, listener: int) -> None:
        self.options, self.screen, self.home, self.listener = options, screen, home, listener
        self.server = EmbeddedServer(home, Path(settings.VALKEY_SOCKET)) if settings.REDIS_EMBEDDED else None
        self.supervisor = Supervisor(self._services(), self._tell, home, self.server, spares=True)
        self._silent_looks = 0
        self._pinged_at = 0.0
        self._page: Path | None = None

    def serve(self) -> int:
        with _signals_raise_stop():
            try:
                self._start()
                self._announce()
                while True:
                    self._look()
                    time.sleep(LOOK_S)
            except Stop:
                return 0
            finally:
                self._end()

    def _services(self) -> list[Service]:
        env = layout.environment(home=self.home, rehearse=self.options.rehearse)
        workers = [layout.worker(number, home=self.home, env=env) for number in range(1, self.options.workers + 1)]
        port, fd = self.options.port, self.listener
        webs = [layout.web(port, home=self.home, env=env, number=number, fd=fd) for number in range(1, self.options.webs + 1)]
        return [*webs, *workers]

    def _start(self) -> None:
        with self.screen.working("Starting Valkey, the web server and the workers"):
            if self.server is not None:
                self.server.ensure()
            elif not wake.reachable():
                self.screen.warn("The server of REDIS_URL does not answer. Agents work without it; pages and answers are slower.")
            self.supervisor.start()
            until = time.monotonic() + READY_S
            while not ports.web_answers(self.options.port):
                self._look()
                self._give_up_when_hopeless(until)
                time.sleep(LOOK_S)
        facts = {"pid": os.getpid(), "port": self.options.port, "rehearse": self.options.rehearse}
        (self.home / "run" / "up.json").write_text(json.dumps(facts))

    def _give_up_when_hopeless(self, until: float) -> None:
        for child in self.supervisor.children:
            if child.quick_deaths >= HOPELESS:
                raise Unavailable(f"The {child.service.name} does not start. Its log is {child.service.log}.")
        if time.monotonic() > until:
            raise Unavailable(
                f"The web server does not answer after {READY_S:.0f} s. Its log is {self.home / 'log' / 'web.log'}."
            )

    def _announce(self) -> None:
        link = sign_in_link(self.options.port)
        self.screen.headline("Crewdesk is running", f"{address(self.options.port)}   home {self.home}")
        self.screen.link("Sign in, once, within 15 minutes", link)
        rehearse = self.options.rehearse or settings.REHEARSE
        self.screen.say(credentials.sentence(rehearse=rehearse))
        self.screen.say("Ctrl-C ends everything; agents go on from where they were at the next start.")
        if self.options.browser:
            self._page = browser.open_privately(link)

    def _look(self) -> None:
        self.supervisor.look()
        if self.server is not None and time.monotonic() - self._pinged_at > 0.3:
            self._look_at_server(self.server)
            self._pinged_at = time.monotonic()

    def _look_at_server(self, server: EmbeddedServer) -> None:
        if server.alive():
            self._silent_looks = 0
            return
        self._silent_looks += 1
        if server.running() and self._silent_looks < 5:
            return  # busy, not dead
        try:
            if server.ensure():
                self._tell("Valkey was gone: started it again.", ())
        except Unavailable as error:
            if self._silent_looks % 20 == 1:
                self._tell(error.message, ())

    def _tell(self, sentence: str, lines: Sequence[str]) -> None:
        self.screen.warn(sentence)
        for line in lines:
            self.screen.quote(line)

    def _end(self) -> None:
        self.screen.say("Ending: agents are parked, then everything stops.")
        names = [child.service.name for child in self.supervisor.children] + (["Valkey"] if self.server is not None else [])
        with _second_signal_kills(self.supervisor):
            self.supervisor.stop(patience_s=STOP_S)
            leftovers.end()
            if self.server is not None:
                self.server.leave()
        if self._page is not None:
            self._page.unlink(missing_ok=True)
        self._say_ended(names)

    def _say_ended(self, names: Sequence[str]) -> None:
        self.screen.say(f"Ended: {', '.join(names)}. {_left_to_do()}")
        self.screen.say(f"Everything is kept in {self.home}; `{words.COMMAND} up` goes on from there.")


def _left_to_do() -> str:
    """What waits for the next start; nothing where the database cannot say."""
    try:
        under_way = sum(team.open_runs for team in teams.summaries(list(access.team_ids())).values())
    except DatabaseError:
        return ""
    finally:
        connections.close_all()
    if not under_way:
        return "No agent was in the middle of a task."
    return f"{under_way} agent{' is' if under_way == 1 else 's are'} parked in the middle of a task."


@contextlib.contextmanager
def _signals_raise_stop() -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        raise Stop

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _second_signal_kills(supervisor: Supervisor) -> Iterator[None]:
    groups, begun = supervisor.groups(), time.monotonic()

    def kill(number: int, frame: object) -> None:
        if time.monotonic() - begun > SECOND_SIGNAL_S:  # `uv run` passes on a Ctrl-C that we have had already
            supervisor.kill(groups)

    signal.signal(signal.SIGINT, kill)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
