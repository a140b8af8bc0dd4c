"""Backups in a folder of this machine are for its user alone, whatever the umask of whoever makes them: they hold everything.

A store elsewhere (S3, SFTP) has rights of its own, which are set there.
"""

import contextlib
import os
from collections.abc import Iterable
from typing import Any, Final

from fsspec.implementations.local import LocalFileSystem

FOLDER: Final = 0o700
FILE: Final = 0o600


def make_folder(files: Any, folder: str) -> None:
    """Make the folder where it is missing; one that is there stays as its owner wants it."""
    if not isinstance(files, LocalFileSystem):
        files.makedirs(folder, exist_ok=True)
    elif not os.path.isdir(folder):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        with contextlib.suppress(FileExistsError):  # another worker was faster
            os.mkdir(folder, FOLDER)
            with _as_the_mount_has_it():
                os.chmod(folder, FOLDER)  # the umask may have taken from it


def begin(files: Any, path: str) -> None:
    """Make an empty file for what is written there next, so that nobody reads it meanwhile."""
    if isinstance(files, LocalFileSystem):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
        try:
            with _as_the_mount_has_it():
                os.fchmod(descriptor, FILE)
        finally:
            os.close(descriptor)


def _as_the_mount_has_it() -> contextlib.AbstractContextManager[None]:
    """A share (CIFS, vfat) may belong to another user and has the modes of its mount: whoever mounts it decides who reads it."""
    return contextlib.suppress(PermissionError)


def close_to_others(files: Any, paths: Iterable[str]) -> None:
    """Take from files that are there what an earlier version's umask had left to others."""
    if isinstance(files, LocalFileSystem):
        for path in paths:
            with contextlib.suppress(OSError):  # it belongs to somebody else, who decides
                if os.stat(path).st_mode & 0o077:
                    os.chmod(path, FILE)
