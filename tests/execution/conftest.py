"""What these tests share: a home and a workspace of their own, and the scripted runner in the registry."""

from pathlib import Path

import pytest

from tasks_app.execution import drive
from tasks_app.runners.registry import RUNNERS
from tests.execution.workers import quick, worker  # noqa: F401
from tests.services import world
from tests.services.fixtures import database_threads, hints  # noqa: F401


@pytest.fixture
def home(tmp_path: Path, settings: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Crewdesk's own folder."""
    settings.HOME = tmp_path / "home"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "nobody"))
    return tmp_path / "home"


@pytest.fixture
def crew(db: None, home: Path, tmp_path: Path) -> world.World:
    """A team of two that works in a real folder. Where threads or a loop look at it, ask for `database_threads` as well."""
    made = world.make()
    world.workspace(made.team, tmp_path / "work")
    return made


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks are driven by `lives.Scripted`."""
    monkeypatch.setitem(RUNNERS, "claude", "tests.execution.lives.Scripted")
    drive._runner.cache_clear()
    yield
    drive._runner.cache_clear()
