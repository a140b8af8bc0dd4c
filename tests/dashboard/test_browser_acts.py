"""Acts in a real Chromium: what asks first, what can be undone, what tells a person who looks elsewhere."""

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard import own_desk
from tests.dashboard.browser_desk import World, axe
from tests.services_fixtures import Daphne

pytest_plugins = ["tests.services_fixtures", "tests.chromium", "tests.dashboard.browser_desk"]
pytestmark = IN_CHROMIUM
real_desk, desk = own_desk.real_desk, own_desk.desk


@pytest.fixture
def plain(contexts: Any) -> Page:
    """A page without scripts."""
    page: Page = contexts(scripts=False).new_page()
    return page


def test_what_asks_first_works_without_scripts_and_has_its_focus_on_the_safe_button(
    server: Daphne, world: World, plain: Page
) -> None:
    plain.goto(f"{server.url}/agents/{world['agent']}/")
    plain.get_by_role("button", name="Stop…").click()
    box = plain.get_by_role("alertdialog", name="Stop ada?")
    expect(box).to_contain_text("T-20 goes back to Queued.")
    expect(box.get_by_role("button", name="Keep running")).to_be_focused()
    plain.keyboard.press("Enter")
    expect(box).to_be_hidden()
    plain.get_by_role("button", name="Stop…").click()
    plain.keyboard.press("Escape")
    expect(box).to_be_hidden()


def test_what_asks_first_stays_open_while_its_page_changes_and_is_accessible(server: Daphne, world: World, desk: Page) -> None:
    desk.goto(f"{server.url}/teams/atlas/")
    desk.get_by_role("button", name="Stop team…").click()
    box = desk.get_by_role("alertdialog", name="Stop Atlas?")
    expect(box.get_by_role("button", name="Keep running")).to_be_focused()
    desk.evaluate(
        """() => {
            const bar = document.querySelector("[id^=team-bar]"), text = bar.outerHTML.replace("Nothing new", "Nothing at all");
            htmx.swap({ target: bar, text, swap: "outerMorph" });
        }"""
    )
    expect(box).to_contain_text("Nothing at all starts")
    expect(box.get_by_role("button", name="Keep running")).to_be_focused()
    assert axe(desk) == []


def test_a_raise_is_asked_for_at_the_safe_way_out(server: Daphne, world: World, desk: Page) -> None:
    desk.goto(f"{server.url}/teams/atlas/")
    desk.get_by_text("Budget…").click()
    desk.locator("#usd-budget-atlas").fill("90")
    desk.get_by_role("button", name="Set the budget").click()
    expect(desk.get_by_text("$30.00 more")).to_be_visible()
    expect(desk.get_by_role("link", name="Keep it as it is")).to_be_focused()


def test_a_snooze_is_taken_back_with_the_focus_on_what_is_next(server: Daphne, world: World, desk: Page) -> None:
    desk.goto(f"{server.url}/inbox/{world['question']}/")
    desk.get_by_role("button", name="Snooze 5 min").click()
    told = desk.locator("#undo-note")
    expect(told).to_contain_text("Snoozed for 5 min: ")
    assert desk.evaluate("document.activeElement.tagName") == "H2"
    told.get_by_role("button", name="Undo").click()
    expect(desk.get_by_text("It waits again as before.")).to_be_visible()
    expect(desk).to_have_url(f"{server.url}/inbox/{world['question']}/")


def test_what_was_answered_stays_in_the_list_for_five_seconds(server: Daphne, world: World, desk: Page) -> None:
    desk.goto(f"{server.url}/inbox/{world['stall']}/")
    desk.wait_for_timeout(600)  # an answer is inert for a moment
    desk.get_by_role("button", name="Wait").click()
    row = desk.locator("#inbox-list a.gone")  # in its place among the others
    expect(row).to_be_visible()
    assert axe(desk) == []
    expect(row).to_be_hidden()
    expect(desk.locator(":focus")).to_have_role("heading")


STUB = """
window.told = [];
window.Notification = class {
  static permission = "granted";
  static requestPermission() { return Promise.resolve("granted"); }
  constructor(title, more) { told.push([title, more.tag, more.body, !!more.renotify]); }
  close() {}
};
Object.defineProperty(document, "hidden", { get: () => !!window.away });
"""
ASKED = '{ id: "%s", kind: "permission", title: "rm -rf secret", agent: "builder-2", team: "Atlas" }'


def test_who_looks_elsewhere_is_told_once_and_again_while_it_waits(server: Daphne, world: World, contexts: Any) -> None:
    context = contexts()
    context.grant_permissions(["notifications"])
    page = context.new_page()
    page.add_init_script(STUB)
    page.clock.install()
    page.goto(server.url + "/")
    expect(page.get_by_role("link", name="waiting for you").first).to_be_visible()
    page.get_by_role("button", name="Yes, with a sound").click()
    expect(page.get_by_text("Tell me when the tab is in the background?")).to_be_hidden()
    asked = ASKED % world["permission"]
    page.evaluate(
        f"away = true; told.length = 0; document.dispatchEvent(new CustomEvent('live:decision', {{ detail: {asked} }}))"
    )
    page.evaluate(f"document.dispatchEvent(new CustomEvent('live:decision', {{ detail: {asked} }}))")
    page.clock.run_for(2_000)
    first = ["Permission from builder-2 · Atlas", world["permission"], "Waits for you.", False]
    assert page.evaluate("told") == [first], "once, and without what is asked"
    with page.expect_response("**/api/decisions"):
        page.clock.run_for(62_000)
    page.wait_for_timeout(300)
    assert page.evaluate("told.slice(1)") == [[*first[:2], "Still waits for you.", True]]
    page.evaluate("away = false; document.dispatchEvent(new Event('visibilitychange')); away = true")
    page.clock.run_for(400_000)
    assert len(page.evaluate("told")) == 2, "it was seen"
    page.goto(server.url + "/inbox/")
    page.get_by_role("button", name="Notifications: on").click()
    expect(page.get_by_role("button", name="Notifications: off")).to_be_visible()


def test_where_a_page_may_not_notify_it_says_what_is_possible(server: Daphne, world: World, contexts: Any) -> None:
    page = contexts("phone").new_page()
    page.add_init_script(
        STUB.replace("told.push([title, more.tag, more.body, !!more.renotify])", "throw new TypeError('Illegal')")
    )
    page.goto(server.url + "/inbox/")
    page.get_by_role("button", name="Notifications: off").click()
    expect(page.get_by_text("This browser shows no notifications of an open page. A web hook tells you")).to_be_visible()


def test_a_phone_is_not_asked_what_it_cannot_do_and_its_bars_are_for_fingers(server: Daphne, world: World, contexts: Any) -> None:
    page = contexts("phone").new_page()
    page.goto(server.url + "/")
    expect(page.get_by_role("link", name="Review the")).to_be_visible()
    expect(page.get_by_text("Tell me when the tab is in the background?")).to_be_hidden()
    sizes = page.locator(".bar .btn:visible, .attn a, .attn .btn:visible").evaluate_all(
        "(all) => all.map((one) => { const { width, height } = one.getBoundingClientRect(); return [width, height]; })"
    )
    assert len(sizes) == 4
    assert all(width >= 44 and height >= 44 for width, height in sizes), sizes
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_new_entries_are_read_aloud_only_when_asked_for(server: Daphne, world: World, desk: Page) -> None:
    desk.goto(f"{server.url}/agents/{world['agent']}/")
    log, aloud = desk.get_by_role("log"), desk.get_by_role("button", name="Read new entries aloud")
    expect(log).to_have_attribute("aria-live", "off")
    aloud.click()
    expect(aloud).to_have_attribute("aria-pressed", "true")
    expect(log).to_have_attribute("aria-live", "polite")
    desk.get_by_label("Find in transcript").fill("step number 45")
    desk.get_by_role("button", name="Find", exact=True).click()
    expect(desk.locator(".step")).to_have_count(1)
    assert axe(desk) == []


def test_the_page_that_deletes_a_team_is_accessible(server: Daphne, world: World, contexts: Any) -> None:
    for size in ("desk", "phone"):
        page = contexts(size).new_page()
        page.goto(f"{server.url}/teams/cygnus/delete/")
        page.get_by_label("Type Cygnus to delete it").fill("Borealis")
        page.get_by_role("button", name="Delete the team and its history").click()
        expect(page.get_by_role("alert")).to_contain_text("That is not the team's name.")
        assert axe(page) == []
        page.emulate_media(color_scheme="dark")
        assert axe(page, ["color-contrast"]) == []


def test_a_message_whose_answer_was_lost_is_kept_in_its_form_and_sent_again_it_is_one_message(
    server: Daphne, world: World, desk: Page
) -> None:
    """The server has it, the browser does not know; then the block of the form is drawn anew from the socket."""

    def lost(route: Route) -> None:
        route.fetch()
        route.abort()

    desk.goto(f"{server.url}/agents/{world['agent']}/")
    box = desk.get_by_label("Message", exact=True)
    send = desk.get_by_role("button", name="Send", exact=True)
    box.fill("Keep the old column.")
    desk.route("**/message/", lost)
    send.click()
    expect(desk.get_by_text("Not delivered: the server cannot be reached. Your text is kept. Try again.")).to_be_visible()
    expect(box).to_have_value("Keep the old column.")
    server.python(
        "import json; from tests.dashboard import browser_world; print(json.dumps(browser_world.note('ada', 'Meanwhile.')))"
    )
    expect(desk.get_by_text("Meanwhile.")).to_be_visible()
    expect(desk.get_by_text("Not delivered")).to_be_visible()
    desk.unroute("**/message/")
    send.click()
    expect(box).to_have_value("")
    expect(desk.get_by_text("Not delivered")).to_have_count(0)
    said = "from tasks_app.models import Message; print(Message.objects.filter(body='Keep the old column.').count())"
    assert server.python(said) == 1
    box.fill("Keep the old column.")
    send.click()
    expect(box).to_have_value("")
    assert server.python(said) == 2, "said again on purpose it is another one"


def test_a_form_that_the_server_fails_on_stays_with_its_text(server: Daphne, world: World, desk: Page) -> None:
    desk.goto(f"{server.url}/teams/atlas/checkpoints/")
    desk.route("**/action/", lambda route: route.fulfill(status=503, body="<main id='main'>broken</main>"))
    desk.get_by_label("Name").fill("before the fault")
    desk.get_by_role("button", name="Save").click()
    expect(desk.get_by_role("alert")).to_have_text("Not delivered: server error. Your text is kept. Try again.")
    expect(desk.get_by_label("Name")).to_have_value("before the fault")
    desk.unroute("**/action/")
    desk.get_by_role("button", name="Save").click()
    expect(desk.get_by_text("“before the fault” is saved.")).to_be_visible()
    expect(desk.get_by_text("Not delivered")).to_have_count(0)
