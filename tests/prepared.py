"""Homes whose database is migrated already: made once in each process of a test run, then copied (a fresh one: 2 s of CPU)."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATABASE = "crewdesk.sqlite3"
MAKE = "import django; django.setup(); from tasks_app.management import prepare; prepare.home(); prepare.database()"
_own = Path(os.environ.get("CREWDESK_HOME", ""))
"""The private home of this process, made and removed by tests/conftest.py."""


@cache
def _template() -> Path:
    home = _own / "prepared"
    env = {**os.environ, "CREWDESK_HOME": str(home), "DATABASE_URL": "", "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    subprocess.run([sys.executable, "-c", MAKE], cwd=ROOT, env=env, check=True, timeout=120)
    return home / DATABASE


def home(folder: Path) -> Path:
    """Make a home there with a database that holds nothing yet, and return it; one that exists stays as it is."""
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True)
        shutil.copy(_template(), folder / DATABASE)
    return folder
