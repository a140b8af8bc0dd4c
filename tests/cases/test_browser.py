"""The cases whose behaviour is the browser's: two tabs, cards that change by themselves, in Chromium."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, WebSocketRoute, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard.live_support import World, running_world
from tests.services_fixtures import Valkey, until

pytest_plugins = ["tests.services_fixtures", "tests.chromium"]
pytestmark = IN_CHROMIUM
Open = Callable[..., Page]
FAMILY = "현 보유현황 👩‍👩‍👧‍👦 <b>x</b> 𝔘"
INERT_MS = 700
expect.set_options(timeout=10_000)


@pytest.fixture(scope="module")
def world(valkey: Valkey) -> Iterator[World]:
    with running_world(valkey.url, app="dashboard.asgi:application") as world:
        world("act", "crew")
        yield world


@pytest.fixture
def tab(world: World, chromium: Browser) -> Iterator[Open]:
    """Return a function that opens a tab of the lead's browser (of its own with `scripts=False`) and is live there."""
    contexts: list[BrowserContext] = []

    def open_(path: str, *, scripts: bool = True) -> Page:
        if not scripts or not contexts:
            contexts.append(chromium.new_context(java_script_enabled=scripts))
            contexts[-1].add_cookies([{"name": "crewdesk_session", "value": world.session("lead"), "url": world.server.url}])
        page = contexts[-1 if not scripts else 0].new_page()
        page.goto(world.server.url + path)
        if scripts:
            expect(page.locator("html")).to_have_attribute("data-conn", "live")
            page.wait_for_timeout(INERT_MS)
        return page

    yield open_
    for context in contexts:
        context.close()


def _through(socket: WebSocketRoute) -> WebSocketRoute:
    """Let a page talk to its server as always; what this returns can also speak to the page."""
    socket.connect_to_server()
    return socket


def test_two_tabs_that_approve_and_reject_a_plan_at_the_same_moment(world: World, tab: Open) -> None:
    """N21"""
    asked = world("act", "asking", "plan", "engineer")
    one, other = (tab(f"/inbox/{asked['id']}/") for _ in range(2))
    other.get_by_label("Comments").fill("Smaller steps.")
    sent: list[Route] = []
    for page, button in ((one, "Approve plan"), (other, "Send back with comments")):
        page.route("**/answer/", lambda route: sent.append(route))
        page.get_by_role("button", name=button).click()
    until(lambda: one.wait_for_timeout(20) or len(sent) == 2)
    for route in sent:  # both have left their pages before either has arrived
        route.continue_()
    until(lambda: world("act", "answer_of", asked["id"])[0] == "answered", pause_s=0.1)
    status, choice, by = world("act", "answer_of", asked["id"])
    assert (status, by) == ("answered", "lead")
    winner, loser = (one, other) if choice == "approve" else (other, one)
    expect(winner.get_by_text("Approved: " if choice == "approve" else "Sent back: ").first).to_be_visible()
    expect(loser.get_by_role("alert")).to_contain_text(re.compile(r"Already decided by lead at \d\d:\d\d:\d\d UTC"))


def test_what_a_person_was_told_stays_while_the_page_brings_itself_up_to_date(world: World, tab: Open) -> None:
    """N21: the refusal of the second answer."""
    asked = world("act", "asking", "plan", "reader")
    page = tab(f"/inbox/{asked['id']}/")
    sent: list[Route] = []
    sockets: list[WebSocketRoute] = []
    page.route("**/answer/", lambda route: sent.append(route), times=1)
    page.route_web_socket("**/*", lambda socket: sockets.append(_through(socket)))
    page.get_by_role("button", name="Approve plan").click()
    until(lambda: page.wait_for_timeout(20) or sent)
    world("act", "send_back", asked["id"])
    sent[0].continue_()
    expect(page.get_by_role("alert")).to_contain_text("Already decided by other")
    expect(page.locator("html")).to_have_attribute("data-conn", "live")
    until(lambda: page.wait_for_timeout(20) or sockets)  # the refused page opens one of its own
    with page.expect_response(lambda answer: bool(answer.request.headers.get("x-live"))) as fresh:
        sockets[-1].send('{"resync": true}')  # whether the server itself says so here depends on who is quicker
    fresh.value.finished()
    page.wait_for_timeout(300)
    expect(page.get_by_role("alert")).to_contain_text("Already decided by other")
    expect(page.locator("[data-decision]")).to_contain_text("Sent back by other")


def test_a_page_that_an_answer_replaces_while_it_is_fetched_again_stays_as_the_answer_made_it(world: World, tab: Open) -> None:
    """N21: what was fetched is of the page before, whose place another has taken."""
    asked = world("act", "asking", "plan", "mover")
    page = tab(f"/inbox/{asked['id']}/")
    sockets, held = list[WebSocketRoute](), list[Route]()
    page.route_web_socket("**/*", lambda socket: sockets.append(_through(socket)))
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-conn", "live")
    page.wait_for_timeout(INERT_MS)
    page.route("**/inbox/**", lambda route: held.append(route) if "x-live" in route.request.headers else route.continue_())
    page.evaluate("() => { window.stands = true; }")
    sockets[-1].send('{"resync": true}')
    until(lambda: page.wait_for_timeout(20) or held)
    page.get_by_role("button", name="Approve plan").click()
    expect(page.get_by_text("Approved: ").first).to_be_visible()
    at, made = page.url, page.locator("#main").get_attribute("data-live")
    assert f"/inbox/{asked['id']}/" not in at
    with page.expect_response(lambda answer: "x-live" in answer.request.headers) as fetched:
        held[0].continue_()
    fetched.value.finished()
    page.wait_for_timeout(400)
    expect(page.get_by_text("Approved: ").first).to_be_visible()
    assert page.evaluate("() => window.stands"), "it was loaded anew"
    assert (page.url, page.locator("#main").get_attribute("data-live")) == (at, made)
    expect(page.locator("html")).to_have_attribute("data-conn", "live")


def test_a_card_whose_request_is_taken_back_ends_by_itself(world: World, tab: Open) -> None:
    """N23"""
    asked = world("act", "asking", "permission", "tester")
    page = tab(f"/inbox/{asked['id']}/")
    expect(page.get_by_role("button", name="Allow once")).to_be_visible()
    world("act", "take_back", asked["id"])
    card = page.locator(f"[data-decision='{asked['id']}']")
    expect(card).to_contain_text("the agent took the request back")
    expect(page.get_by_role("button", name="Allow once")).to_have_count(0)


def test_a_press_on_a_card_that_stood_still_is_refused_in_words(world: World, tab: Open) -> None:
    """N23: a page without scripts does not change by itself."""
    asked = world("act", "asking", "permission", "writer")
    page = tab(f"/inbox/{asked['id']}/", scripts=False)
    world("act", "take_back", asked["id"])
    with page.expect_navigation() as answer:
        page.get_by_role("button", name="Allow once").click()
    assert answer.value.status == 409
    expect(page.get_by_role("alert")).to_contain_text("This request ended: the agent took the request back. Nothing was sent.")
    assert page.goto(f"{world.server.url}/inbox/d00000000/").status == 404
    expect(page.get_by_text("There is no such request, or you have no access to it.")).to_be_visible()


def test_stop_is_stopping_in_every_tab_until_the_process_is_seen_gone(world: World, tab: Open) -> None:
    """N38"""
    asked = world("act", "asking", "permission", "drawer")
    task, inbox = tab(f"/tasks/{asked['task']}/"), tab(f"/inbox/{asked['id']}/")
    task.get_by_role("button", name="Stop the attempt…").click()
    task.get_by_role("alertdialog").get_by_role("button", name=re.compile("^Stop")).click()
    expect(task.get_by_text("The attempt is being stopped.")).to_be_visible()
    expect(task.get_by_text("Stopping…")).to_be_visible()
    expect(inbox.locator(f"[data-decision='{asked['id']}']")).to_contain_text("its run was stopped")
    assert world("act", "status_of", asked["run"]) == "running"
    world("act", "seen_gone", asked["run"])
    expect(task.get_by_text("Stopped by lead.", exact=True)).to_be_visible()
    expect(task.get_by_text("Stopping…")).to_have_count(0)


def test_a_message_to_a_name_that_nobody_has_is_refused_and_kept(world: World, tab: Open) -> None:
    """N16"""
    page = tab("/teams/atlas/")
    page.get_by_label("To", exact=True).evaluate("(select) => { select.selectedOptions[0].value = 'enginer'; }")
    page.get_by_role("textbox", name="Message").fill("My long words.")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Did you mean engineer?")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("My long words.")


def test_what_is_typed_in_one_tab_comes_through_the_socket_of_another_character_for_character(world: World, tab: Open) -> None:
    """N20"""
    page, other = tab("/teams/atlas/"), tab("/teams/atlas/")
    page.get_by_role("textbox", name="Message").fill(FAMILY)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Queued: engineer is not running now").or_(page.get_by_text("is on its way"))).to_be_visible()
    expect(other.get_by_text(FAMILY, exact=True)).to_be_visible()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("")


def test_a_card_leaves_the_blocked_when_what_blocked_it_is_done(world: World, tab: Open) -> None:
    """N01"""
    first, then = world("act", "blocked")
    board, task = tab("/teams/atlas/"), tab(f"/tasks/{then}/")
    expect(task.get_by_text("Blocked by")).to_be_visible()
    world("act", "complete", first)
    expect(task.get_by_text("Blocked by")).to_have_count(0)
    expect(task.get_by_text("✓").first).to_be_visible()
    column = board.get_by_role("region", name=re.compile("^Blocked"))
    expect(column).not_to_contain_text("Then")


def test_a_new_request_is_said_politely_and_marks_the_tab(world: World, tab: Open) -> None:
    """One polite status, and nothing else on the page is live: else a screen reader would say each change twice."""
    page = tab("/history/")
    news = page.locator("#conn-news")
    expect(news).to_have_attribute("aria-live", "polite")
    asked = world("act", "asking", "plan", "announcer")
    expect(news).to_have_text("New: Plan approval from announcer")
    expect(page.locator("#conn-icon")).to_have_attribute("href", re.compile("f9a825"))
    expect(page).to_have_title(re.compile(r"^\(\d+\) "))
    world("act", "take_back", asked["id"])
