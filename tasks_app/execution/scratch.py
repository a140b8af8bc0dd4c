"""Temporary files of a worker: in a folder of the home that carries its name, so that whoever comes after knows whose they are.

The SDK leaves its folders of resumed transcripts behind when a worker is killed.
"""

import asyncio
import shutil
import tempfile
from pathlib import Path

from django.conf import settings

from tasks_app.execution import db
from tasks_app.execution.spec import home_of
from tasks_app.selectors import runs
from tasks_app.services import workers

TRIES, PAUSE_S = 20, 0.05


def use(worker: str) -> None:
    """Make this worker's folder the one of this process."""
    folder = _folder() / worker
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    tempfile.tempdir = str(folder)


def sweep(host: str) -> None:
    """Remove what dead workers of this host have left, and the private folders of lives that are over.

    A life removes its own; that of a killed worker is removed by the run's next life, and here where there is none.
    """
    for folder in _folder().glob("*"):
        owner = folder.name.rsplit(":", 2)[0]
        if owner in (host, folder.name) and not workers.lives(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
    folders = list((Path(settings.HOME) / "runs").glob("*-*"))  # before the look: a life is stored before it has a folder
    working = {home_of(*life) for life in runs.lives_under_way()} if folders else set()
    for folder in folders:
        if folder not in working:
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
    await db.call(sweep, host)


def _folder() -> Path:
    return Path(settings.HOME) / "tmp"
