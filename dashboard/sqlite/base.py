"""Where Django looks for the backend.

SQLite has one lock and no queue: who finds it taken sleeps, longer and longer up to 0.1 s, while others overtake. With two
workers a claim waited for more than a second (docs/performance.md). Here the transactions of a process come one after another,
as they were begun, and the first of them asks again every `LOOK_S`: other processes have the same chance each time.
"""

import logging
import sqlite3
import time
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError

from dashboard.sqlite import PATIENT, WAIT_S, line, log

logger = logging.getLogger(__name__)
LOOK_S = 0.001
CHAIN_S = 0.05
"""Transactions that follow one another for so long leave the file free for `PAUSE_S`: another process sees it then."""
PAUSE_S = 0.002


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's, but for how a transaction begins."""

    transaction_mode: str | None  # the stubs leave it out

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._turn: line.Line | None = None

    def _start_transaction_under_autocommit(self) -> None:
        if self.transaction_mode != "IMMEDIATE":  # one that only reads (`services/moments.py`) is in nobody's way
            super()._start_transaction_under_autocommit()  # type: ignore[misc] # the stubs leave it out, as those below
            return
        until = time.monotonic() + WAIT_S
        before = line.of(str(self.settings_dict["NAME"]))
        if not before.enter(WAIT_S):
            raise OperationalError("database is locked")
        self._turn = before
        try:
            before.let_pass(CHAIN_S, PAUSE_S)
            self._begin(until)
        except BaseException:
            self._leave()
            raise

    def _begin(self, until: float) -> None:
        with self.wrap_database_errors:
            self.connection.execute("PRAGMA busy_timeout=0")
        try:
            while not self._begun(until):
                time.sleep(LOOK_S)
        finally:
            with self.wrap_database_errors:
                self.connection.execute(PATIENT)

    def _begun(self, until: float) -> bool:
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except OperationalError as error:
            code = getattr(error.__cause__, "sqlite_errorcode", 0)
            if code & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            return False
        return True

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        if self._turn is not None:
            self._keep_log_short()
        self._leave()  # what cannot be committed is rolled back

    def _keep_log_short(self) -> None:
        """What was committed is committed: a fault in here fails nobody."""
        try:
            log.of(str(self.settings_dict["NAME"])).keep_short(self.connection)
        except sqlite3.Error:
            logger.exception("the log of %s could not be emptied", self.settings_dict["NAME"])

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._leave()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._leave()

    def _leave(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.leave()
