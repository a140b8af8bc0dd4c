"""Empties SQLite's write-ahead log where its readers never let it.

The log begins anew only in a moment in which nobody reads from it. Many pages that are read one into the other leave no such
moment, and then it grows for as long as they do (8 readers: 250 MB in 8 s). Whoever has just written and sees that it is long
waits for those who read, and new ones read from the database meanwhile. Source: sqlite.org/pragma.html#pragma_wal_checkpoint.
"""

import logging
import os
import sqlite3
import time
from functools import cache

from dashboard.sqlite import PATIENT

LIMIT = 64 * 1024 * 1024
"""Bytes of a log that is emptied. It is normally some 4 MB; `journal_size_limit` is the same."""
LOOK_S = 1.0
PATIENCE_MS = 1_000
"""So long readers are waited for. Nobody writes meanwhile, so it is given up soon."""
AGAIN_S = 30.0
"""Then it is left for so long: one who reads for minutes (an export, an audit) must not take a second from each commit."""
logger = logging.getLogger(__name__)


class Log:
    """The log of one database file, as this process sees it."""

    def __init__(self, path: str) -> None:
        self._path = f"{path}-wal"
        self._looked = time.monotonic()
        self._was_busy = False

    def keep_short(self, connection: sqlite3.Connection) -> None:
        """Empty the log if it is too long; called by who has the turn to write, after a commit. Raises `sqlite3.Error`."""
        now = time.monotonic()
        if now - self._looked < (AGAIN_S if self._was_busy else LOOK_S):
            return
        self._looked, self._was_busy = now, False
        if self._size() <= LIMIT:
            return
        connection.execute(f"PRAGMA busy_timeout={PATIENCE_MS}")
        try:
            busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            connection.execute(PATIENT)
        if busy:
            self._looked, self._was_busy = time.monotonic(), True
            logger.warning("%s is %d MB long, and is being read all the time", self._path, self._size() // 1_000_000)

    def _size(self) -> int:
        try:
            return os.stat(self._path).st_size
        except OSError:
            return 0


@cache
def of(path: str) -> Log:
    """Return the log of the database file `path`."""
    return Log(path)
