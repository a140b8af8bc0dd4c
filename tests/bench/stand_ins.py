"""Processes that stand for the parts of an installation, for what looks at processes only."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.desk import Desk, TooLate, has_ended, of_home, until
from bench.place import Place

SLEEP = "import time; print(flush=True); time.sleep(120)"


def desk(home: Path) -> Desk:
    """A desk that was never started, with whatever is started as its own."""
    return Desk(Place(home, "sqlite", env={"CREWDESK_HOME": str(home)}))


@contextlib.contextmanager
def process(home: Path, *words: str, own_session: bool = True, **env: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Yield a process of this home, with these words in its command line, once it runs."""
    argv = [sys.executable, "-S", "-c", SLEEP, *words]
    given = {"CREWDESK_HOME": str(home), **env}
    with subprocess.Popen(argv, env=given, start_new_session=own_session, stdout=subprocess.PIPE) as found:
        assert found.stdout is not None
        found.stdout.readline()
        try:
            yield found
        finally:
            found.kill()


__all__ = ["TooLate", "desk", "has_ended", "of_home", "process", "until"]
