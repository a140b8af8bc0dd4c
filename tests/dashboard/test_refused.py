"""A refused answer in a real Chromium: the focus goes to the field that is wrong, and no word of what is typed answers."""

import pytest
from playwright.sync_api import Page, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard import own_desk
from tests.dashboard.browser_desk import RealDesk, posted

pytest_plugins = ["tests.services_fixtures", "tests.chromium", "tests.dashboard.browser_desk"]
pytestmark = IN_CHROMIUM
real_desk, page = own_desk.real_desk, own_desk.desk
expect.set_options(timeout=10_000)
WORDS = "a hard road"  # each of its letters `a`, `h`, `d` answers where it is a key


def ready(page: Page) -> None:
    """Wait until the request in view takes answers."""
    expect(page.locator("[data-decision]")).to_be_visible()
    expect(page.locator("html[data-inert]")).to_have_count(0)


@pytest.mark.parametrize(
    ("kind", "press", "said", "field"),
    [
        ("plan", "key d", "Say what to change", "note"),
        ("plan", "Approve with changes", "Nothing in the plan was changed", "plan"),
        ("review", "key d", "Say what to change", "note"),
        ("question", "key Control+Enter", "Choose", "q0_text"),
        ("escalation", "key Control+Enter", "Choose an option or write what to do", "text"),
        ("budget", "Raise the budget", "Say by how many USD", "usd"),
    ],
)
def test_a_refused_answer_puts_the_focus_into_its_field(
    real_desk: RealDesk, page: Page, kind: str, press: str, said: str, field: str
) -> None:
    page.goto(f"{real_desk.server.url}/inbox/{real_desk.world[kind]}/")
    ready(page)
    if kind == "escalation":
        page.get_by_label("Something else").check()
    posts = posted(page)
    if press.startswith("key "):
        page.keyboard.press(press.removeprefix("key "))
    else:
        page.get_by_role("button", name=press).click()
    expect(page.locator("[data-decision] [role=alert]").filter(has_text=said)).to_be_visible()
    box = page.locator(f"[data-decision] [name={field}]")
    expect(box).to_be_focused()
    expect(page.locator("[data-decision] [role=alert]")).to_be_in_viewport()
    expect(box).to_be_in_viewport()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(WORDS)
    expect(box).to_have_value(WORDS)
    assert len(posts) == 1


def test_no_key_answers_beside_an_error_until_the_form_is_left(real_desk: RealDesk, page: Page) -> None:
    world, url = real_desk.world, real_desk.server.url
    page.goto(f"{url}/inbox/{world['plan']}/")
    ready(page)
    page.keyboard.press("d")
    expect(page.locator("[data-decision] textarea[name=note]")).to_be_focused()
    posts = posted(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Approve plan")).to_be_focused()
    for key in "had":
        page.keyboard.press(key)
    page.locator("[data-decision] [role=alert]").evaluate("(one) => { one.tabIndex = -1; one.focus(); }")
    for key in "had":
        page.keyboard.press(key)
    assert posts == []
    page.keyboard.press("Escape")
    expect(page.locator("[data-decision] h2")).to_be_focused()
    with page.expect_request("**/answer/"):
        page.keyboard.press("d")


def test_words_that_begin_before_the_next_request_is_in_view_for_a_moment_answer_nothing(real_desk: RealDesk, page: Page) -> None:
    world, url = real_desk.world, real_desk.server.url
    page.goto(f"{url}/inbox/{world['stall']}/")
    ready(page)
    posts = posted(page)
    page.get_by_role("button", name="Wait").click()
    expect(page.locator("[data-decision] h2")).to_be_focused()
    expect(page).not_to_have_url(f"{url}/inbox/{world['stall']}/")
    page.goto(f"{url}/inbox/{world['allowed']}/")
    page.keyboard.type("hahd" * 6, delay=150)  # far longer than the request is inert
    assert [path.split("/")[-3] for path in posts] == [world["stall"]]
    page.wait_for_timeout(800)
    page.keyboard.press("h")
    expect(page.locator("#undo-note")).to_contain_text("Snoozed for 5 min: ")


def test_the_address_names_the_request_that_is_shown(real_desk: RealDesk, page: Page) -> None:
    """After a snooze and after it was taken back; what is fetched again is what is in view."""
    world, url = real_desk.world, real_desk.server.url
    address = f"{url}/inbox/{world['held']}/"
    page.goto(address)
    ready(page)
    page.keyboard.press("h")
    expect(page.locator("#undo-note")).to_be_visible()
    shown = page.locator("[data-decision]").get_attribute("data-decision")
    assert shown != world["held"]
    expect(page).to_have_url(f"{url}/inbox/{shown}/")
    page.keyboard.press("u")
    expect(page.get_by_text("It waits again as before.")).to_be_visible()
    expect(page).to_have_url(address)
    expect(page.locator("[data-decision]")).to_have_attribute("data-decision", world["held"])
    page.go_back()
    expect(page).to_have_url(f"{url}/inbox/{shown}/")
    expect(page.locator("[data-decision]")).to_have_attribute("data-decision", str(shown))
