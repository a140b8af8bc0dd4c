"""Files of a folder that agents write, reached through no link: it may lead anywhere, and have been made a moment ago."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath
from typing import Final

ANY_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY
FOLDER: Final = ANY_FOLDER | os.O_NOFOLLOW
FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe would be waited for


@contextmanager
def opened(name: str, flags: int, folder: int | None = None) -> Iterator[int]:
    """The open file or folder of this name in an open folder. Raises `OSError`; with `FOLDER` and `FILE` also for a link."""
    found = os.open(name, flags, dir_fd=folder)
    try:
        yield found
    finally:
        os.close(found)


@contextmanager
def regular(name: str, folder: int) -> Iterator[int]:
    """An open file. Raises `OSError` for all else, also where it took the file's place a moment ago."""
    with opened(name, FILE, folder) as found:
        if not stat.S_ISREG(os.fstat(found).st_mode):
            raise OSError(f"{name} is no regular file")
        yield found


def remove(base: Path, name: str, *, folders: bool = False) -> bool:
    """Remove a file, or a link itself, by its path in `base`, with `folders` also those that it leaves empty.

    Returns whether it was there: not behind a link, and no folder.
    """
    *way, last = PurePath(name).parts
    with ExitStack() as stack:
        try:
            open_ones = [stack.enter_context(opened(str(base), ANY_FOLDER))]
            for part in way:
                open_ones.append(stack.enter_context(opened(part, FOLDER, open_ones[-1])))
            if stat.S_ISDIR(os.stat(last, dir_fd=open_ones[-1], follow_symlinks=False).st_mode):
                return False
            os.unlink(last, dir_fd=open_ones[-1])
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return False
            raise
        with suppress(OSError):  # the first that has something in it stays, and so do those around it
            for part, around in zip(reversed(way if folders else []), reversed(open_ones[:-1]), strict=False):
                os.rmdir(part, dir_fd=around)
    return True
