"""What a browser module takes (`real_desk = own_desk.real_desk`) that changes what others would look at."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.dashboard.browser_desk import RealDesk, started
from tests.services_fixtures import Valkey


@pytest.fixture(scope="module")
def real_desk(valkey: Valkey) -> Iterator[RealDesk]:
    """A desk of its own: what is done here is done to everybody on it."""
    with started(valkey) as found:
        yield found


@pytest.fixture
def desk(contexts: Any) -> Page:
    """A signed-in page on a desktop."""
    page: Page = contexts().new_page()
    return page
