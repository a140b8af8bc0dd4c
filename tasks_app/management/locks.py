"""File locks that the kernel drops when a process dies, however it dies."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self


class FileLock:
    """An advisory lock on a file: exclusive for one holder, shared for many. Never inherited by child processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def exclusive(self, *, wait: bool = False) -> bool:
        """Take the lock for this process alone (or turn a shared one into it); False when others hold it and wait is off."""
        return self._take(fcntl.LOCK_EX, wait=wait)

    def shared(self) -> None:
        """Hold the lock together with others; waits for an exclusive holder."""
        self._take(fcntl.LOCK_SH, wait=True)

    def release(self) -> None:
        """Let go; a second call does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _take(self, mode: int, *, wait: bool) -> bool:
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, mode | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            self.release()
            return False
        return True

    def __enter__(self) -> Self:
        self.exclusive(wait=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()
