"""What every test shares: a private home folder and no leftover environment, set before Django reads its settings."""

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import django
import pluggy
import pytest

from tests import early, setsid

for name in [key for key in os.environ if key.startswith(("CREWDESK_", "ANTHROPIC_", "CLAUDE"))]:
    if not name.startswith("CREWDESK_TEST_"):
        del os.environ[name]
os.environ.pop("REDIS_URL", None)
NO_SKIP = os.environ.get("CREWDESK_TEST_NO_SKIP") == "1"
_home = tempfile.TemporaryDirectory(prefix="crewdesk-test-")
os.environ["CREWDESK_HOME"] = str(Path(_home.name))
os.environ["DATABASE_URL"] = os.environ.get("CREWDESK_TEST_DATABASE_URL", "")
os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
os.environ["CLAUDE_CONFIG_DIR"] = str(Path(_home.name) / "nobody")  # who runs the tests may be signed in
if shutil.which("setsid") is None:
    os.environ["PATH"] = f"{setsid.provide(Path(_home.name, 'bin')).parent}:{os.environ['PATH']}"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what one of the hundreds of processes has compiled, the next ones read
os.environ["CREWDESK_DB_POOL"] = "40"  # PostgreSQL: tests start up to 20 callers at once, each with its own connection
if os.geteuid() != 0:
    os.environ["CREWDESK_INSPECTABLE"] = "1"  # tests tell the processes of a home by their environment; root may read it anyway
django.setup()


PROCESSES = ("engine", "browser", "chaos", "files")
UNITS = {"architecture", "decision_kinds", "domain", "rehearsal", "runners", "selectors", "services", "tools"}
"""Folders whose tests look at one thing at a time: no page, no command, no server."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark units as `unit`. One at a time, what is cheap comes first. Side by side, what is long comes first, chaos before all:
    begun last, a file of minutes would run alone while the other worker has nothing to do."""
    here = Path(__file__).parent
    for item in items:
        if item.path.relative_to(here).parts[0] in UNITS and not any(item.get_closest_marker(name) for name in PROCESSES):
            item.add_marker("unit")
    beside_others = hasattr(config, "workerinput")
    items.sort(
        key=lambda item: (
            (item.get_closest_marker("chaos") is None) == beside_others,
            any(item.get_closest_marker(name) for name in ("engine", "browser", "files")) != beside_others,
        )
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Stories that mostly wait begin now, beside all others."""
    early.begin(session.config, (mark.args[0] for item in session.items for mark in item.iter_markers("early")))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """None of them outlives the tests."""
    early.end(session.config)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pluggy.Result[pytest.TestReport]]:
    """Where everything is installed (CI) nothing may skip: a skip counts as a failure."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and NO_SKIP and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but nothing may skip here: {report.longrepr}"


@pytest.fixture(autouse=True)
def no_workspace_of_another_test() -> Generator[None, None, None]:
    """Teams of one name in two tests must not meet in the home folder that they share."""
    yield
    shutil.rmtree(Path(_home.name) / "workspaces", ignore_errors=True)
