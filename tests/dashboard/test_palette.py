"""The palette and the keys that act on any page, in a real Chromium: undo, pause, follow, more."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard.browser_desk import RealDesk, axe, posted, started
from tests.services_fixtures import Valkey

pytest_plugins = ["tests.services_fixtures", "tests.chromium", "tests.dashboard.browser_desk"]
pytestmark = IN_CHROMIUM
expect.set_options(timeout=10_000)


@pytest.fixture(scope="module")
def real_desk(valkey: Valkey) -> Iterator[RealDesk]:
    """A desk of its own: others answer what is asked here."""
    with started(valkey) as found:
        yield found


@pytest.fixture(params=["desk", "phone"])
def page(request: pytest.FixtureRequest, contexts: Any) -> Page:
    """A signed-in page of each size."""
    page = contexts(request.param).new_page()
    assert isinstance(page, Page)
    return page


def live(page: Page) -> None:
    expect(page.locator("html[data-conn=live]")).to_have_count(1)


def test_the_palette_finds_places_things_and_acts_and_holds_no_answer(real_desk: RealDesk, page: Page) -> None:
    world, url = real_desk.world, real_desk.server.url
    posts = posted(page)
    page.goto(f"{url}/inbox/{world['plan']}/")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Place, task, agent or act")
    expect(field).to_be_focused()
    options = page.get_by_role("option")
    expect(options.filter(has_text="Overview").first).to_be_visible()
    expect(options.filter(has_text="Approve plan")).to_have_count(0)
    assert axe(page) == []
    page.emulate_media(color_scheme="dark")
    assert axe(page, ["color-contrast"]) == []
    page.keyboard.type("go hist")
    expect(options.first).to_have_text(re.compile("Go to *History"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{url}/history/")
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.type("payment & co")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{url}/search/?q=payment%20%26%20co")
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    assert posts == []


@pytest.mark.parametrize("page", ["desk"], indirect=True)
def test_pause_holds_the_page_still_and_goes_on_with_all_that_came(real_desk: RealDesk, page: Page) -> None:
    page.goto(f"{real_desk.server.url}/keys/")
    page.goto(f"{real_desk.server.url}/teams/atlas/")
    live(page)
    page.keyboard.press("p")
    expect(page.locator("#conn-text")).to_have_text("Paused")
    made = "from tasks_app.models import Team; from tasks_app.services import actions; "
    act = "actions.{0}_team(Team.objects.get(slug='atlas').pk, actor='user:anna'); print(1)"
    real_desk.server.python(made + act.format("pause"))
    page.wait_for_timeout(1500)
    expect(page.get_by_role("button", name="Resume")).to_have_count(0)
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Resume").first).to_be_attached()
    expect(page.locator("#conn-text")).to_have_text("Live")
    real_desk.server.python(made + act.format("resume"))
    expect(page.get_by_role("button", name="Resume")).to_have_count(0)


@pytest.mark.parametrize("page", ["desk"], indirect=True)
def test_undo_follow_and_more_have_a_key(real_desk: RealDesk, page: Page) -> None:
    world, url = real_desk.world, real_desk.server.url
    page.goto(f"{url}/inbox/{world['question']}/")
    page.locator("[data-key=h]").click()
    expect(page.locator("#undo-note")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("It waits again as before.")).to_be_visible()
    page.goto(f"{url}/teams/atlas/")
    page.keyboard.press(".")
    expect(page.locator("details.menu[open]")).to_have_count(1)
    page.keyboard.press("Escape")
    page.goto(f"{url}/agents/{world['agent']}/")
    live(page)
    expect(page.locator("#follow")).to_be_visible()  # its script has come: before that it is there, but hidden
    expect(page.locator("#follow")).to_have_text("Follow: on")
    page.keyboard.press("f")
    expect(page.locator("#follow")).to_have_text("Follow: off")
