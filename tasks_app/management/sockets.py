"""Where the embedded Valkey listens: a unix socket whose path is short enough for every system. Pure: settings import it."""

import hashlib
import os
import stat
from pathlib import Path

MAX_PATH_BYTES = 100
"""`sun_path` holds 108 bytes on Linux and 104 on macOS; the server needs a few for itself."""


def socket_path(home: Path) -> Path:
    """Return `home/run/valkey.sock`, or a path in /tmp that depends only on user and home where the first is too long.

    Links are followed first: however a home is written (on a Mac /var is /private/var), all who use it meet at one socket.
    """
    home = home.resolve()
    path = home / "run" / "valkey.sock"
    if len(os.fsencode(path)) <= MAX_PATH_BYTES:
        return path
    mark = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    folder = Path("/tmp")  # noqa: S108 - the one short path everywhere; private_folder refuses what another user has made
    return folder / f"crewdesk-{os.getuid()}-{mark}" / "valkey.sock"


def private_folder(folder: Path) -> Path:
    """Make `folder` (0700) and return it. Raises PermissionError where somebody else owns it or could open it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode):
        raise PermissionError(f"{folder} is not a folder of its own. Remove it and start again.")
    if facts.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user. Remove it, or set CREWDESK_HOME to a shorter path.")
    if stat.S_IMODE(facts.st_mode) & 0o077:
        folder.chmod(0o700)
    return folder
