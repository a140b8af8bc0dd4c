"""A line: who comes first has the turn first. `threading.Lock` lets whoever runs just now have it."""

import threading
import time
from collections import deque
from functools import cache


class Line:
    """Gives one turn at a time, in the order in which threads came."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken = False
        self._since = 0.0  # when it was free last
        self._waiting: deque[threading.Lock] = deque()

    def let_pass(self, after_s: float, for_s: float) -> None:
        """Whoever has the turn: where it has gone from hand to hand for so long, pause, for others wait outside this process."""
        if time.monotonic() - self._since > after_s:
            time.sleep(for_s)
            self._since = time.monotonic()

    def enter(self, within_s: float) -> bool:
        """Wait for the turn; False where it has not come in time."""
        with self._mutex:
            if not self._taken:
                self._taken, self._since = True, time.monotonic()
                return True
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        try:
            came = mine.acquire(timeout=max(0.0, within_s))
        except BaseException:  # Ctrl-C, which interrupts who waits
            if not self._give_up(mine):
                self.leave()
            raise
        return came or not self._give_up(mine)

    def _give_up(self, mine: threading.Lock) -> bool:
        """Wait no longer; False where the turn was handed over in this moment."""
        with self._mutex:
            if mine not in self._waiting:
                return False
            self._waiting.remove(mine)
            return True

    def leave(self) -> None:
        """Hand the turn to who is next. Any thread may: a connection may be closed by another than began."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


@cache
def of(path: str) -> Line:
    """Return this process's line before the database file `path`."""
    return Line()
