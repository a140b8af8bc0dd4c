"""The world that the tests of the socket share: one server for all of them."""

from collections.abc import Iterator

import pytest

from tests.dashboard.live_support import World, running_world
from tests.services_fixtures import Valkey


@pytest.fixture(scope="session")
def world(valkey: Valkey) -> Iterator[World]:
    with running_world(valkey.url) as world:
        yield world


@pytest.fixture
def quiet_log(world: World) -> Iterator[None]:
    """Whatever a test does to a socket, the server makes no error of it."""
    world.renders()
    before = world.server.log.stat().st_size
    yield
    new = world.server.log.read_bytes()[before:].decode()
    assert "Traceback" not in new, new[-3000:]
