"""A team with its lead's browser, and each way in to it."""

from pathlib import Path
from typing import Any

import pytest

from tasks_app.models import Dependency
from tests.boundaries.ways import WAYS
from tests.dashboard.conftest import browser_of, lead  # noqa: F401
from tests.services import world
from tests.services.fixtures import database_threads, hints  # noqa: F401


@pytest.fixture
def crew(lead: Any, tmp_path: Path, settings: Any) -> world.World:  # noqa: F811
    """Three tasks; T-3 waits for T-2."""
    settings.HOME = tmp_path / "home"
    made = world.make(titles=("Build", "Test", "Write"), slug="atlas", name="Atlas", lead=lead)
    world.workspace(made.team, tmp_path / "work")
    return made


@pytest.fixture
def way(request: pytest.FixtureRequest, crew: world.World, lead: Any, browser_of: Any) -> Any:  # noqa: F811
    """One way in, named by the test's parameter."""
    return WAYS[request.param](crew, browser_of(lead))


def stored(crew: world.World) -> dict[str, Any]:
    """All that a write could have changed."""
    edges = list(Dependency.objects.filter(task__team=crew.team).order_by("pk").values_list("task_id", "needs_id"))
    return {**world.frozen(crew.team), "dependencies": edges}
