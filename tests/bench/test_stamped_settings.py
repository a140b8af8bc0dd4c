"""The settings of workers that note their stages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.place import ROOT

SAYS = "print(settings.WORKER_SLOTS > 0, settings.CELERY_IMPORTS, app.conf.imports)"


@pytest.mark.parametrize(
    "first",
    ["from django.conf import settings; settings.HOME; from dashboard.celery import app", "from dashboard.celery import app"],
    ids=["settings", "the package"],
)
def test_they_are_whole_whatever_is_imported_first(tmp_path: Path, first: str) -> None:
    env = {**os.environ, "CREWDESK_HOME": str(tmp_path / "home"), "DJANGO_SETTINGS_MODULE": "bench.stamped_settings"}
    program = f"{first}; from django.conf import settings; {SAYS}"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout == "True ('bench.stamped',) ('bench.stamped',)\n", done.stderr
