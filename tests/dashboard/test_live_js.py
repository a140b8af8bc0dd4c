"""live.js in a real Chromium under the product's content security policy: what a person sees and keeps."""

import re
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard.live_support import World, running_world
from tests.services_fixtures import Valkey

pytest_plugins = ["tests.services_fixtures", "tests.chromium"]
pytestmark = IN_CHROMIUM
PATIENCE_MS = 15_000
RECONNECT_MS = 45_000  # the longest pause between two tries, and then some
HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def world(valkey: Valkey) -> Iterator[World]:
    with running_world(valkey.url, heartbeat_s=2.0, unacked_frames=30) as world:
        yield world


@pytest.fixture
def page(world: World, chromium: Browser) -> Iterator[Page]:
    """A signed-in page of Atlas that is live; any console error fails the test."""
    context = chromium.new_context()
    session = world("sign_in", "lead")
    context.add_cookies([{"name": "crewdesk_session", "value": session, "url": world.server.url}])
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda said: problems.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    world.facts["session"] = session
    for n, task in enumerate(world.tasks):
        world("rename", task, f"Atlas {n + 1}")
    page.goto(f"{world.server.url}/page/team/atlas/")
    expect(page.locator("html")).to_have_attribute("data-conn", "live")
    yield page
    context.close()
    refused = ("WebSocket connection", "ERR_CONNECTION_REFUSED", "net::ERR")
    assert not [text for text in problems if not any(word in text for word in refused)], problems


def card(page: Page, world: World, n: int = 0):  # type: ignore[no-untyped-def]
    return page.locator(f"#task-{world.tasks[n]}")


def test_a_change_appears_as_text_and_nothing_else(page: Page, world: World) -> None:
    world("rename", world.tasks[0], "<img src=x onerror=alert(1)>")
    expect(card(page, world).locator("h3")).to_have_text("<img src=x onerror=alert(1)>")
    expect(page.locator("#conn-text")).to_have_text("Live")


def test_what_is_open_stays_open(page: Page, world: World) -> None:
    card(page, world).locator("summary").click()
    page.locator("body").hover(position={"x": 1, "y": 1})
    world("rename", world.tasks[0], "renamed under an open one")
    expect(card(page, world).locator("h3")).to_have_text("renamed under an open one")
    expect(card(page, world).locator("details")).to_have_attribute("open", "")


def test_a_card_in_which_somebody_types_is_left_alone_until_they_leave(page: Page, world: World) -> None:
    note = card(page, world).locator("textarea")
    note.fill("half a sent")
    note.press("End")
    world("rename", world.tasks[0], "new title")
    world("rename", world.tasks[1], "the neighbour")
    expect(card(page, world, 1).locator("h3")).to_have_text("the neighbour")
    expect(card(page, world).locator("h3")).to_have_text("Atlas 1")
    note.press_sequentially("ence")
    page.locator("body").hover(position={"x": 1, "y": 1})
    note.blur()
    expect(card(page, world).locator("h3")).to_have_text("new title")
    expect(note).to_have_value("half a sentence")


def test_a_list_around_a_card_in_which_somebody_types_goes_on(page: Page, world: World) -> None:
    note = card(page, world).locator("textarea")
    note.fill("typing")
    added = world("add", world.facts["atlas"], "a new neighbour")
    world("rename", world.tasks[0], "later")
    expect(page.locator(f"#task-{added} h3")).to_have_text("a new neighbour")
    expect(card(page, world).locator("h3")).to_have_text("Atlas 1")
    expect(note).to_be_focused()
    expect(note).to_have_value("typing")
    page.locator("body").hover(position={"x": 1, "y": 1})
    note.blur()
    expect(card(page, world).locator("h3")).to_have_text("later")
    world("drop", added)
    expect(page.locator(f"#task-{added}")).to_have_count(0)


def test_a_hidden_tab_changes_its_title_and_nothing_else_until_it_is_seen(page: Page, world: World) -> None:
    page.evaluate(
        "document.addEventListener('live:decision', (e) => { document.documentElement.dataset.heard = e.detail.title })"
    )
    page.evaluate(HIDE, True)
    world("ask", world.facts["atlas"], "May I?")
    world("rename", world.tasks[0], "behind the curtain")
    expect(page).to_have_title(re.compile(r"^\(\d+\) Desk$"))
    expect(page.locator("html")).to_have_attribute("data-heard", "May I?")
    page.wait_for_timeout(700)
    expect(card(page, world).locator("h3")).to_have_text("Atlas 1")
    page.evaluate(HIDE, False)
    expect(card(page, world).locator("h3")).to_have_text("behind the curtain")


def test_a_server_that_comes_back_is_caught_up_with(page: Page, world: World) -> None:
    world.server.stop()
    expect(page.locator("#conn-text")).to_have_text("Reconnecting")
    expect(page.locator("#answer")).to_be_enabled()
    for n in range(3):
        world("rename", world.tasks[0], f"while away {n}")
    world.server.start()
    expect(page.locator("#conn-text")).to_have_text(re.compile(r"Caught up: \d+ changes"), timeout=RECONNECT_MS)
    expect(card(page, world).locator("h3")).to_have_text("while away 2")
    expect(page.locator("#conn-text")).to_have_text("Live")


def test_a_gap_is_healed_by_fetching_the_page_and_keeps_what_was_typed(page: Page, world: World) -> None:
    card(page, world, 1).locator("textarea").fill("kept")
    card(page, world, 2).locator("summary").click()
    card(page, world, 1).locator("textarea").blur()
    page.locator("body").hover(position={"x": 1, "y": 1})
    world.server.stop()
    added = world("add", world.facts["atlas"], "came while away")
    world("bulk", world.facts["atlas"], 2001)
    world.server.start()
    expect(page.locator(f"#task-{added} h3")).to_have_text("came while away", timeout=RECONNECT_MS)
    expect(page.locator("#conn-text")).to_have_text("Live")
    expect(card(page, world, 1).locator("textarea")).to_have_value("kept")
    expect(card(page, world, 2).locator("details")).to_have_attribute("open", "")
    world("rename", world.tasks[0], "and live again")
    expect(card(page, world).locator("h3")).to_have_text("and live again")
    world("drop", added)


def test_silence_makes_the_page_stale_and_disables_answers_until_it_is_live_again(world: World, chromium: Browser) -> None:
    context = chromium.new_context()
    context.add_cookies([{"name": "crewdesk_session", "value": world("sign_in", "lead"), "url": world.server.url}])
    page = context.new_page()
    page.clock.install()
    page.goto(f"{world.server.url}/page/team/atlas/")
    page.clock.run_for(1000)
    expect(page.locator("#conn-text")).to_have_text("Live")
    assert world.server.process
    world.server.process.send_signal(signal.SIGSTOP)
    try:
        page.clock.run_for(27_000)
        expect(page.locator("#conn-text")).to_have_text(re.compile(r"^Stale since \d\d:\d\d:\d\d$"))
        expect(page.locator("#answer")).to_be_disabled()
    finally:
        world.server.process.send_signal(signal.SIGCONT)
    page.clock.run_for(1000)  # the next try
    expect(page.locator("#answer")).to_be_enabled()
    expect(page.locator("#never")).to_be_disabled()
    context.close()


def test_clocks_tick_without_frames(world: World, chromium: Browser) -> None:
    context = chromium.new_context()
    context.add_cookies([{"name": "crewdesk_session", "value": world("sign_in", "lead"), "url": world.server.url}])
    page = context.new_page()
    page.clock.install()
    page.goto(f"{world.server.url}/page/team/atlas/")
    page.clock.run_for(2000)
    expect(page.locator("#since")).to_have_text(re.compile(r"^59 min 5\d s$"))
    expect(page.locator("#until")).to_have_text(re.compile(r"^1 min( [1-4] s)?$"))
    page.clock.run_for(70_000)
    expect(page.locator("#since")).to_have_text("1 h 1 min")
    expect(page.locator("#until")).to_have_text("0 s")
    context.close()


def test_a_storm_keeps_the_page_in_step_because_it_acknowledges(page: Page, world: World) -> None:
    page.evaluate("document.querySelector('#main').mark = 'the same element'")
    world("storm", world.tasks, 400)
    expect(card(page, world, 0).locator("h3")).to_have_text("storm 399")
    expect(page.locator("#conn-text")).to_have_text("Live")
    assert page.evaluate("document.querySelector('#main').mark") == "the same element"


def test_signing_out_elsewhere_leads_to_the_sign_in_page(page: Page, world: World) -> None:
    world("sign_out", world.facts["session"])
    expect(page.locator("h1")).to_have_text("Sign in")


def test_a_task_of_a_hundred_frames_does_not_grow_the_page(page: Page, world: World) -> None:
    before = page.evaluate("document.getElementsByTagName('*').length")
    world("storm", world.tasks, 100)
    expect(card(page, world, 0).locator("h3")).to_have_text("storm 99")
    assert page.evaluate("document.getElementsByTagName('*').length") == before
