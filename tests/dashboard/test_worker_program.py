"""`python -m dashboard.worker`: what it takes, and that the collector goes on once all is loaded."""

import gc
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings

from dashboard import worker
from dashboard.celery import OTHER_POOL
from tasks_app.loading import uncollected

ROOT = Path(__file__).resolve().parents[2]


class Made:
    """A worker of Celery's that notes how it was made."""

    exitcode = 3

    def __init__(self, **options: Any) -> None:
        self.options = options | {"collects": gc.isenabled()}
        self.started_collecting: bool | None = None

    def start(self) -> None:
        self.started_collecting = gc.isenabled()


def test_it_is_celerys_worker_with_the_runs_that_the_settings_say(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.WORKER_SLOTS = 5
    made: list[Made] = []
    app = SimpleNamespace(Worker=lambda **options: made.append(Made(**options)) or made[-1])
    monkeypatch.setattr(worker, "import_module", lambda name: SimpleNamespace(app=app, name=name))
    switches: list[float] = []
    monkeypatch.setattr(worker.sys, "setswitchinterval", switches.append)
    assert worker.main(["--hostname", "crewdesk-2@desk", "--loglevel", "INFO"]) == 3
    assert switches == [worker.SWITCH_S]
    (one,) = made
    assert one.options.pop("collects") is False
    assert one.started_collecting is True
    assert one.options == {
        "concurrency": 5,
        "hostname": "crewdesk-2@desk",
        "loglevel": "INFO",
        "quiet": True,
        "pool_cls": "threads",
        "without_gossip": True,
        "without_mingle": True,
        "without_heartbeat": True,
    }


LEVEL = """
import logging, sys
from dashboard import worker
from dashboard.celery import app
def start(self):
    self.setup_logging()
    print(logging.getLevelName(logging.getLogger().level))
app.Worker.start = start
worker.main(sys.argv[1:])
"""


@pytest.mark.parametrize(("words", "level"), [([], "INFO"), (["--loglevel", "ERROR"], "ERROR")])
def test_it_logs_as_the_settings_say_unless_it_is_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, words: list[str], level: str
) -> None:
    """Celery sets the level of everything, its own default where it is given none."""
    monkeypatch.setenv("CREWDESK_LOG_LEVEL", "INFO")
    done = subprocess.run(
        [sys.executable, "-c", LEVEL, *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split()[-1:] == [level], done.stderr


def test_what_it_does_not_know_is_said_in_words() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dashboard.worker", "--loglevel", "loud"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "argument --loglevel: invalid choice: 'loud'" in done.stderr
    assert worker.LEVELS == settings.LOG_LEVELS
    assert "Traceback" not in done.stderr


def test_the_collector_goes_on_whatever_loading_comes_to() -> None:
    frozen = gc.get_freeze_count()
    with pytest.raises(ImportError), uncollected():
        import_module("tests.no_such_module")
    assert gc.isenabled()
    assert gc.get_freeze_count() > frozen
    gc.unfreeze()


LOADED = """
import sys
from dashboard import worker
from dashboard.celery import OTHER_POOL
from dashboard.celery import app
app.Worker(pool_cls="threads", concurrency=1)
print([name for name in sys.modules if name.startswith(("celery.bin", "prompt_toolkit"))])
"""


def test_nothing_of_celerys_command_line_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def celery(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "celery", "-A", "dashboard.celery", "worker", "--hostname", "one@here", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("pool", ["solo", "processes"])
def test_celerys_own_command_takes_no_other_pool(pool: str) -> None:
    done = celery("--pool", pool)
    assert done.returncode == 1
    assert done.stderr.strip().endswith(OTHER_POOL)
    assert "Traceback" not in done.stderr


CONFIGURED = """
from dashboard.celery import app
worker = app.Worker(hostname="one@here")
print(worker.pool_cls.__name__, worker.pool_cls.__module__, worker.concurrency)
"""


def test_whoever_starts_it_has_threads_as_many_as_runs_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREWDESK_WORKER_SLOTS", "5")
    done = subprocess.run([sys.executable, "-c", CONFIGURED], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["TaskPool", "celery.concurrency.thread", "5"]
