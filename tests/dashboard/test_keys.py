"""The keys in a real Chromium: the desk is run by hand on the keyboard alone, and no key answers what it must not."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard.browser_desk import RealDesk, axe, posted

pytest_plugins = ["tests.services_fixtures", "tests.chromium", "tests.dashboard.browser_desk"]
pytestmark = IN_CHROMIUM
FOCUSED = "document.activeElement"
expect.set_options(timeout=10_000)


@pytest.fixture
def page(contexts: Any) -> Page:
    """A signed-in page on a desktop."""
    page = contexts().new_page()
    assert isinstance(page, Page)
    return page


def slowly(route: Route) -> None:
    """Hold the page that answers back: the live frame that tells of the same answer comes first."""
    answer = route.fetch()
    time.sleep(1.5)
    route.fulfill(response=answer)


def ready(page: Page) -> None:
    """Wait until the request in view takes answers."""
    expect(page.locator("[data-decision]")).to_be_visible()
    expect(page.locator("html[data-inert]")).to_have_count(0)


def test_the_inbox_is_worked_through_with_keys_alone(real_desk: RealDesk, page: Page) -> None:
    world, url = real_desk.world, real_desk.server.url
    posts = posted(page)
    page.goto(f"{url}/")
    page.keyboard.press("Tab")
    assert page.evaluate(f"{FOCUSED}.textContent") == "Skip to content"
    for key in "gi":
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(r"/inbox/\w+/$"))
    for _ in range(page.locator(".split .item").count()):
        page.keyboard.press("j")
        if world["asked"] in page.evaluate(f"{FOCUSED}.href"):
            break
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{url}/inbox/{world['asked']}/")
    ready(page)
    page.keyboard.press("2")
    expect(page.locator(".opt input").nth(1)).to_be_checked()
    page.keyboard.press("r")
    page.keyboard.type("a1 d, as in the contract")  # in a field they are letters
    page.keyboard.press("Escape")
    assert page.evaluate(f"{FOCUSED}.tagName") == "H2"
    assert page.locator(".ask textarea").input_value() == "a1 d, as in the contract"
    assert posts == []
    page.route("**/answer/", slowly)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Answered: ")).to_be_visible()
    expect(page.locator("[data-decision] h2")).to_be_focused()  # the next request
    page.goto(f"{url}/inbox/{world['allowed']}/")
    ready(page)
    expect(page.get_by_role("button", name="Allow once").locator("kbd")).to_be_visible()
    page.keyboard.press("a")
    expect(page.get_by_text(re.compile("^Allowed"))).to_be_visible()
    assert [path.removeprefix(url) for path in posts] == [f"/inbox/{world[name]}/answer/" for name in ("asked", "allowed")]


def test_no_key_answers_too_early_what_is_risky_or_by_accident(real_desk: RealDesk, page: Page) -> None:
    world, url = real_desk.world, real_desk.server.url
    posts = posted(page)
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    page.goto(f"{url}/inbox/{world['held']}/")
    page.keyboard.press("a")
    page.clock.run_for(300)
    page.keyboard.press("d")
    page.clock.resume()
    ready(page)
    for keys in ("ga", "gd"):  # what follows a `g` belongs to it
        for key in keys:
            page.keyboard.press(key)
    for key in ("Control+a", "Alt+a", "Shift+a", "Control+Enter"):
        page.keyboard.press(key)
    page.goto(f"{url}/inbox/{world['risky']}/")
    ready(page)
    for key in "ad1":
        page.keyboard.press(key)
    expect(page.locator("[data-decision] [data-key=h] kbd")).to_be_visible()
    expect(page.locator("[data-decision] :is([data-key=a], [data-key=d])")).to_have_count(0)
    page.keyboard.press("]")
    expect(page).not_to_have_url(f"{url}/inbox/{world['risky']}/")
    assert posts == []


def test_the_list_of_keys_opens_over_the_page_and_switches_the_single_ones_off(real_desk: RealDesk, page: Page) -> None:
    url = real_desk.server.url
    page.goto(f"{url}/teams/atlas/")
    page.keyboard.press("j")
    first = page.evaluate(f"{FOCUSED}.closest('.tcard') && {FOCUSED}.textContent")
    page.keyboard.press("j")
    assert page.evaluate(f"{FOCUSED}.textContent") != first
    page.keyboard.press("k")
    assert page.evaluate(f"{FOCUSED}.textContent") == first
    page.keyboard.press("?")
    box = page.get_by_role("dialog", name="Keys")
    expect(box.get_by_role("button", name="Close")).to_be_focused()
    assert axe(page) == []
    box.get_by_label("Single keys, in this browser").uncheck()
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    for key in "?gi":
        page.keyboard.press(key)
    page.reload()
    page.keyboard.press("?")
    expect(page.locator(".nav kbd")).to_be_hidden()
    page.get_by_role("link", name="Keys").click()
    page.get_by_label("Single keys, in this browser").check()
    page.go_back()
    page.keyboard.press("g")
    page.keyboard.press("m")
    expect(page).to_have_url(f"{url}/teams/atlas/messages/")
