"""Temporary files of a worker: in a folder of the home that carries its name, so that whoever comes after knows whose they are.

The SDK leaves its folders of resumed transcripts behind when a worker is killed.
"""

import asyncio
import shutil
import tempfile
import time
from pathlib import Path

from django.conf import settings

from tasks_app.services import workers

DAY_S = 86_400
TRIES, PAUSE_S = 20, 0.05


def use(worker: str) -> None:
    """Make this worker's folder the one of this process."""
    folder = _folder() / worker
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    tempfile.tempdir = str(folder)


def sweep(host: str) -> None:
    """Remove what dead workers of this host have left, and private folders of runs that nobody has touched for a day."""
    for folder in _folder().glob("*"):
        owner = folder.name.rsplit(":", 2)[0]
        if owner in (host, folder.name) and not workers.lives(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
    day_ago = time.time() - DAY_S
    for folder in (Path(settings.HOME) / "runs").glob("*-*"):
        if _touched_at(folder) < day_ago:
            shutil.rmtree(folder, ignore_errors=True)


async def leave(worker: str, host: str) -> None:
    """The worker ends: its folder goes with it, and what dead ones left: it may be the last that looks.

    The SDK may be removing its own folders in there at this moment, hence again.
    """
    folder = _folder() / worker
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
        await asyncio.sleep(PAUSE_S)
    sweep(host)


def _folder() -> Path:
    return Path(settings.HOME) / "tmp"


def _touched_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return time.time()  # another worker was faster
