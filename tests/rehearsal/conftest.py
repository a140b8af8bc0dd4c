"""One rehearsal server for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tasks_app.rehearsal.server import RehearsalServer


@pytest.fixture(scope="package")
def server() -> Iterator[RehearsalServer]:
    running = RehearsalServer()
    running.start()
    yield running
    running.stop()
