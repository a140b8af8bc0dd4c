"""What an unattended command starts because nobody serves this home yet, and ends again: Valkey and one worker."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from django.conf import settings

from tasks_app.management import desk, layout, prepare
from tasks_app.management.embedded import EmbeddedServer
from tasks_app.management.supervise import Supervisor
from tasks_app.selectors import workers

PATIENCE_S = 7.0


class Missing:
    """The processes that this command has started; `look` keeps them alive."""

    def __init__(self, *, server: EmbeddedServer | None, supervisor: Supervisor | None) -> None:
        self._server, self._supervisor = server, supervisor

    @property
    def worker(self) -> bool:
        """Whether a worker had to be started."""
        return self._supervisor is not None

    def start(self) -> None:
        """Start what is missing."""
        if self._server is not None:
            self._server.ensure()
        if self._supervisor is not None:
            self._supervisor.start()

    def look(self) -> None:
        """Restart what died."""
        if self._server is not None and not self._server.alive():
            self._server.ensure()
        if self._supervisor is not None:
            self._supervisor.look()

    def end(self) -> None:
        """End what was started; the worker parks its runs first."""
        if self._supervisor is not None:
            self._supervisor.stop(patience_s=PATIENCE_S)
        if self._server is not None:
            self._server.leave()


def somebody_works() -> bool:
    """Whether an `up` serves this home, or any worker has sent its heartbeat lately."""
    return desk.running(prepare.home()) is not None or bool(workers.alive())


@contextlib.contextmanager
def started(*, tell: Callable[[str], None], rehearse: bool, worker: bool) -> Iterator[Missing]:
    """Start what is missing for the time of a `with`: nothing without `worker`. The database is prepared already."""
    if not worker:
        yield Missing(server=None, supervisor=None)
        return
    home = prepare.home()
    server = EmbeddedServer(home, Path(settings.VALKEY_SOCKET)) if settings.REDIS_EMBEDDED else None

    def say(sentence: str, lines: Sequence[str]) -> None:
        for each in (sentence, *lines):
            tell(each)

    supervisor = None
    if not somebody_works():
        env = layout.environment(home=home, rehearse=rehearse)
        service = layout.worker(1, slots=max(1, settings.WORKER_SLOTS), home=home, env=env)
        supervisor = Supervisor([service], say, home, server.socket if server else None)
    missing = Missing(server=server, supervisor=supervisor)
    try:
        missing.start()
        yield missing
    finally:
        missing.end()
