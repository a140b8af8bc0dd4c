"""Forms in a real Chromium: what was written in one is kept, what comes into view is not answered by chance, the address tells the page."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard.browser_desk import RealDesk, World, started
from tests.services_fixtures import Daphne, Valkey

pytest_plugins = ["tests.services_fixtures", "tests.chromium", "tests.dashboard.browser_desk"]
pytestmark = IN_CHROMIUM
INERT_MS = 700


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


def test_a_request_that_comes_back_into_view_is_inert_again(server: Daphne, world: World, desk: Page) -> None:
    desk.goto(f"{server.url}/inbox/{world['plan']}/")
    desk.wait_for_timeout(INERT_MS)
    desk.get_by_role("button", name="Snooze 5 min").click()
    expect(desk.locator("#undo-note")).to_contain_text("Snoozed for 5 min: ")
    expect(desk.locator("html:not([data-inert])")).to_have_count(1)
    desk.evaluate(
        """() => {
            window.inert = 0;
            const look = () => { if ("inert" in document.documentElement.dataset) window.inert += 1; };
            new MutationObserver(look).observe(document.documentElement, { attributeFilter: ["data-inert"] });
        }"""
    )
    desk.locator("#undo-note").get_by_role("button", name="Undo").click()
    expect(desk.locator(f"[data-decision='{world['plan']}']")).to_be_visible()
    assert desk.evaluate("inert") == 1
