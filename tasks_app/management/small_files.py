"""Files that a person names by hand (plans, rehearsal scripts, leads): read whole, and only where that can come to an end."""

import os
import stat
from pathlib import Path

from tasks_app.domain.errors import Invalid

MOST = 2**20
"""Bytes that such a file may have."""


def read(path: Path, *, what: str, field: str) -> bytes:
    """Return what is in a regular file of at most `MOST` bytes. Raises `Invalid` for anything else, in words.

    A device never ends and a pipe may never begin: neither is opened, nor waited for where it takes a file's place meanwhile.
    """
    try:
        _must_be_a_file(os.stat(path), path, what, field)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as file:
            _must_be_a_file(os.fstat(descriptor), path, what, field)
            data = file.read(MOST + 1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise Invalid(f"The {what} {path} cannot be read: {getattr(error, 'strerror', None) or error}.", field=field) from None
    if len(data) > MOST:
        raise Invalid(f"The {what} {path} has more than {MOST:,} bytes; at most so many are read.", field=field)
    return data


def _must_be_a_file(found: os.stat_result, path: Path, what: str, field: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise Invalid(f"The {what} {path} cannot be read: it is {kind}.", field=field)
    if found.st_size > MOST:
        raise Invalid(f"The {what} {path} has {found.st_size:,} bytes; at most {MOST:,} are read.", field=field)
