"""What these tests share: a team at work, and the caller of its first run."""

import pytest

from tasks_app.models import Task
from tests.services import world
from tests.services.fixtures import database_threads, hints  # noqa: F401
from tests.tools.calls import caller


@pytest.fixture
def crew():
    made = world.make(titles=("Build", "Test", "Write"), limits={"parallel": 3})
    Task.objects.filter(pk=made.tasks[0].pk).update(criteria=["The page works.", "Tests pass."])
    return made


@pytest.fixture
def me(crew):
    return caller(crew)
