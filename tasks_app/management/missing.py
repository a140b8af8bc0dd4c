"""What an unattended command starts because nobody serves this home yet, and ends again: Valkey and one worker."""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from django.conf import settings

from tasks_app.management import desk, layout, leftovers, prepare
from tasks_app.management.embedded import EmbeddedServer
from tasks_app.management.supervise import Supervisor
from tasks_app.selectors import workers

PATIENCE_S = 7.0
LOOK_S = 5.0


class Missing:
    """The processes that this command has started; `look` keeps them alive."""

    def __init__(self, server: EmbeddedServer | None, make: Callable[[], Supervisor]) -> None:
        self._server, self._make = server, make
        self._supervisor: Supervisor | None = None
        self._looked_at = -LOOK_S

    def start(self) -> None:
        """Start what is missing."""
        if self._server is not None:
            self._server.ensure()
        self.look()

    def look(self) -> None:
        """Restart what died; start a worker when the one that somebody else ran has gone."""
        if self._server is not None and not self._server.alive():
            self._server.ensure()
        if self._supervisor is None and time.monotonic() - self._looked_at > LOOK_S:
            self._looked_at = time.monotonic()
            if not somebody_works():
                self._supervisor = self._make()
                self._supervisor.start()
        if self._supervisor is not None:
            self._supervisor.look()

    def end(self) -> None:
        """End what was started; the worker parks its runs first."""
        if self._supervisor is not None:
            self._supervisor.stop(patience_s=PATIENCE_S)
            leftovers.end()
        if self._server is not None:
            self._server.leave()


def somebody_works() -> bool:
    """Whether an `up` serves this home, or any worker has sent its heartbeat lately."""
    return desk.running(prepare.home()) is not None or bool(workers.alive())


@contextlib.contextmanager
def started(*, tell: Callable[[str], None], rehearse: bool) -> Iterator[Missing]:
    """Start what is missing for the time of a `with`. The database is prepared already."""
    home = prepare.home()
    server = EmbeddedServer(home, Path(settings.VALKEY_SOCKET)) if settings.REDIS_EMBEDDED else None

    def say(sentence: str, lines: Sequence[str]) -> None:
        for each in (sentence, *lines):
            tell(each)

    def make() -> Supervisor:
        env = layout.environment(home=home, rehearse=rehearse)
        service = layout.worker(1, home=home, env=env)
        return Supervisor([service], say, home, server)

    missing = Missing(server, make)
    after = signal.getsignal(signal.SIGINT)
    try:
        missing.start()
        yield missing
    except KeyboardInterrupt:
        after = signal.SIG_IGN  # the command ends: a second Ctrl-C, such as `uv run` passes on, must not break that off
        raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        missing.end()
        signal.signal(signal.SIGINT, after)
