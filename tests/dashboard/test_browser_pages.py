"""The pages in a real Chromium: readable by all, quiet in the console, safe against wrong presses, whole without scripts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard.browser_desk import SIZES, World, addresses, axe, posted
from tests.services_fixtures import Daphne

pytest_plugins = ["tests.services_fixtures", "tests.chromium", "tests.dashboard.browser_desk"]
pytestmark = IN_CHROMIUM
INERT_MS = 700
expect.set_options(timeout=10_000)


@pytest.fixture
def desk(contexts: Any) -> Page:
    """A signed-in page on a desktop."""
    page: Page = contexts().new_page()
    return page


@pytest.mark.parametrize("size", ["desk", "phone"])
def test_every_page_is_accessible_fits_the_screen_and_says_nothing_in_the_console(
    server: Daphne, world: World, contexts: Any, size: str
) -> None:
    page = contexts(size).new_page()
    said: list[str] = []
    page.on("console", lambda line: said.append(line.text) if line.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    problems: list[str] = []
    for name, address in addresses(world).items():
        answer = page.goto(server.url + address)
        assert answer is not None
        assert answer.status == (404 if name == "not found" else 200)
        if page.evaluate("document.documentElement.scrollWidth") > SIZES[size][0]:
            problems.append(f"{name}: wider than the screen")
        problems += [f"{name}: {found}" for found in axe(page)]
        page.emulate_media(color_scheme="dark")
        problems += [f"{name}, dark: {found}" for found in axe(page, ["color-contrast"])]
        page.emulate_media(color_scheme="light")
        if size == "desk":  # and at 200 %: half as many pixels of CSS
            page.set_viewport_size({"width": SIZES[size][0] // 2, "height": SIZES[size][1] // 2})
            if page.evaluate("document.documentElement.scrollWidth") > SIZES[size][0] // 2:
                problems.append(f"{name}, at 200 %: wider than the screen")
        page.set_viewport_size({"width": SIZES[size][0], "height": SIZES[size][1]})
    assert problems == []
    expected = ("404 (Not Found)", "WebSocket is closed before")  # the page that is missing; leaving a page at once
    assert [line for line in said if not any(words in line for words in expected)] == []


def test_the_sign_in_page_is_accessible(server: Daphne, contexts: Any) -> None:
    page = contexts("phone", signed_in=False).new_page()
    page.goto(server.url + "/inbox/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert axe(page) == []


def test_an_answer_is_inert_for_a_moment_after_its_request_has_appeared(server: Daphne, world: World, desk: Page) -> None:
    posts = posted(desk)
    desk.clock.install()
    desk.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))  # however slow this machine is, no time passes on the page
    desk.goto(f"{server.url}/inbox/{world['budget']}/")
    desk.get_by_role("button", name="Finish with a smaller model").click()
    desk.clock.run_for(INERT_MS // 2)  # within the 500 ms
    assert posts == []
    desk.clock.run_for(INERT_MS)
    desk.clock.resume()
    desk.get_by_role("button", name="Finish with a smaller model").click()
    expect(desk.get_by_text("To finish with a smaller model: ")).to_be_visible()
    assert len(posts) == 1


def test_the_inbox_names_the_request_it_shows_so_that_no_other_takes_its_place(server: Daphne, world: World, desk: Page) -> None:
    desk.goto(server.url + "/inbox/")
    shown = desk.locator("[data-decision]").get_attribute("data-decision")
    expect(desk).to_have_url(f"{server.url}/inbox/{shown}/")


def test_on_a_phone_the_inbox_is_the_list_and_keeps_its_address(server: Daphne, world: World, contexts: Any) -> None:
    page = contexts("phone").new_page()
    page.goto(server.url + "/inbox/")
    expect(page.get_by_role("navigation", name="Waiting items")).to_be_visible()
    expect(page.locator("[data-decision]")).to_be_hidden()
    expect(page).to_have_url(server.url + "/inbox/")


def test_a_double_click_sends_one_answer_and_leaves_the_next_request_alone(server: Daphne, world: World, desk: Page) -> None:
    posts = posted(desk)
    desk.goto(f"{server.url}/inbox/{world['escalation']}/")
    desk.wait_for_timeout(INERT_MS)
    desk.get_by_role("button", name="Send answer").dblclick()
    expect(desk.get_by_text("Answered: ")).to_be_visible()
    desk.wait_for_timeout(300)
    assert len(posts) == 1
    assert f"/inbox/{world['escalation']}/" not in desk.url
    assert desk.evaluate("document.activeElement.tagName") == "H2"


def test_a_risky_call_needs_two_presses_in_two_places(server: Daphne, world: World, desk: Page) -> None:
    posts = posted(desk)
    desk.goto(f"{server.url}/inbox/{world['risky']}/")
    desk.wait_for_timeout(INERT_MS)
    first = desk.get_by_text("Allow once…")
    first.click()
    second = desk.get_by_role("button", name="Yes, run it once")
    expect(second).to_be_visible()
    one, other = first.bounding_box(), second.bounding_box()
    assert one
    assert other
    assert one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
    assert posts == []
    desk.keyboard.press("Escape")
    expect(second).to_be_hidden()


def test_a_refused_answer_keeps_the_text_and_says_why(server: Daphne, world: World, desk: Page) -> None:
    desk.goto(f"{server.url}/inbox/{world['plan']}/")
    desk.wait_for_timeout(INERT_MS)
    desk.get_by_label("Comments").fill("")
    desk.get_by_role("button", name="Send back with comments").click()
    expect(desk.get_by_role("alert")).to_contain_text("Say what to change")
    desk.wait_for_timeout(INERT_MS)
    desk.get_by_label("Comments").fill("Add tests.")
    desk.get_by_role("button", name="Send back with comments").click()
    expect(desk.get_by_text("Sent back: ")).to_be_visible()


def test_a_server_that_cannot_be_reached_is_said_at_the_button_and_the_text_is_kept(
    server: Daphne, world: World, desk: Page
) -> None:
    desk.goto(f"{server.url}/inbox/{world['stall']}/")
    desk.wait_for_timeout(INERT_MS)
    desk.get_by_label("Note to the agent").fill("Take your time.")
    desk.route("**/answer/", lambda route: route.abort())
    desk.get_by_role("button", name="Wait").click()
    expect(desk.get_by_text("Not delivered: the server cannot be reached. Your text is kept. Try again.")).to_be_visible()
    desk.unroute("**/answer/")
    desk.route("**/answer/", lambda route: route.fulfill(status=500, body="<main id='main'>broken</main>"))
    desk.get_by_role("button", name="Wait").click()
    expect(desk.get_by_text("Not delivered: server error. Your text is kept. Try again.")).to_be_visible()
    assert desk.get_by_label("Note to the agent").input_value() == "Take your time."


def test_what_was_not_delivered_is_still_said_when_a_frame_draws_its_card_anew(server: Daphne, world: World, desk: Page) -> None:
    address = f"/inbox/{world['stall']}/"
    desk.goto(server.url + address)
    desk.wait_for_timeout(INERT_MS)
    desk.get_by_label("Note to the agent").fill("Take your time.")
    desk.route("**/answer/", lambda route: route.abort())
    desk.get_by_role("button", name="Wait").click()
    said = desk.get_by_text("Not delivered: the server cannot be reached. Your text is kept. Try again.")
    expect(said).to_be_visible()
    desk.mouse.move(1, 1)
    desk.get_by_label("Note to the agent").blur()
    looked = "from tasks_app.services import actions; actions.look({!r}, actor='user:ben'); print('{{}}')"
    server.python(looked.format(world["stall"]))
    expect(desk.get_by_text("is looking, for")).to_be_visible()
    expect(said).to_be_visible()
    assert desk.get_by_label("Note to the agent").input_value() == "Take your time."


def test_a_transcript_follows_until_the_reader_scrolls_up(server: Daphne, world: World, desk: Page) -> None:
    desk.goto(f"{server.url}/agents/{world['agent']}/")
    follow = desk.get_by_role("button", name="Follow")
    expect(follow).to_have_text("Follow: on")
    log = desk.get_by_role("log")
    assert log.evaluate("(node) => node.scrollHeight - node.scrollTop - node.clientHeight") < 40
    log.evaluate("(node) => { node.scrollTop = 0; }")
    expect(follow).to_have_text("Follow: off")
    expect(desk.get_by_text("Step number 45")).to_have_count(1)


def test_following_stays_off_where_the_page_has_scrolled_in_the_same_moment(server: Daphne, world: World, desk: Page) -> None:
    """The browser tells of a scroll one frame later: by then the reader may have switched it off."""
    desk.goto(f"{server.url}/agents/{world['agent']}/")
    follow = desk.get_by_role("button", name="Follow")
    expect(follow).to_have_text("Follow: on")
    at_end = desk.get_by_role("log").evaluate(
        """async (log) => {
            const frame = () => new Promise(requestAnimationFrame);
            log.append(Object.assign(document.createElement("p"), { textContent: "A new step ".repeat(400) }));
            await Promise.resolve();
            document.getElementById("follow").click();
            await frame(); await frame(); await frame();
            return log.scrollHeight - log.scrollTop - log.clientHeight < 40;
        }"""
    )
    assert at_end, "it had scrolled to what is new"
    expect(follow).to_have_text("Follow: off")


def test_what_scripts_write_into_a_page_stands_again_after_its_texts_were_put_in_place(
    server: Daphne, world: World, desk: Page
) -> None:
    """A frame whose block only says something else is no swap, and adds no element."""
    desk.goto(server.url + "/inbox/")
    switch = desk.locator("[data-notify-switch=sound]")
    expect(switch).to_have_attribute("aria-pressed", "false")  # by the script, which comes later
    expect(switch).to_have_text("Sound: off")
    redrawn = """(node) => {
      node.firstChild.nodeValue = "as the server has it";
      document.dispatchEvent(new Event("page:shown"));
      return node.textContent;
    }"""
    assert switch.evaluate(redrawn) == "Sound: off"
    desk.goto(f"{server.url}/agents/{world['agent']}/")
    follow = desk.get_by_role("button", name="Follow")
    expect(follow).to_have_text("Follow: on")
    assert follow.evaluate(redrawn) == "Follow: on"


def test_a_form_with_a_field_named_words_says_nothing_that_was_not_said(server: Daphne, world: World, desk: Page) -> None:
    """`form.words` is its field of that name, not what a script has put there."""
    desk.goto(f"{server.url}/tasks/{world['task']}/")
    form = desk.locator("form:has(textarea[name=words])")
    before = form.inner_text()
    desk.evaluate("() => document.dispatchEvent(new Event('page:shown'))")
    assert form.inner_text() == before


def test_the_theme_is_kept_and_set_before_the_page_is_drawn(server: Daphne, world: World, desk: Page) -> None:
    desk.goto(server.url + "/")
    desk.get_by_role("button", name="Colours: as the system. Change").click()
    desk.get_by_role("button", name="Colours: light. Change").click()
    desk.reload()
    expect(desk.locator("html")).to_have_attribute("data-theme", "dark")


def test_without_scripts_a_team_is_paused_and_a_question_is_answered(server: Daphne, world: World, contexts: Any) -> None:
    page = contexts(scripts=False).new_page()
    page.goto(server.url + "/teams/borealis/")
    page.get_by_role("button", name="Pause new work").click()
    expect(page.get_by_text("Borealis is paused")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    page.goto(f"{server.url}/inbox/{world['question']}/")
    page.get_by_label("ISO code").check()
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("Answered: ")).to_be_visible()
