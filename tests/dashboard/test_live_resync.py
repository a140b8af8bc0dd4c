"""What happens to a page while it is fetched again: it stands still, another takes its place, or what came cannot be put."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Page, Route, WebSocketRoute, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard.live_support import World, page_of_our_own
from tests.services_fixtures import until

pytest_plugins = ["tests.services_fixtures", "tests.chromium", "tests.dashboard.live_fixtures"]
pytestmark = IN_CHROMIUM


@dataclass
class Desk:
    """A page that is told to fetch itself, and what it asks for then."""

    page: Page
    sockets: list[WebSocketRoute]
    asked: list[Route] = field(default_factory=list)

    def resync(self, times: int = 1) -> None:
        """Tell the page to fetch itself; its request is held."""
        self.sockets[-1].send('{"resync": true, "seq": "s9"}')
        self.hold(times)

    def hold(self, times: int) -> None:
        until(lambda: self.page.wait_for_timeout(20) or len(self.asked) == times)

    def answer(self) -> None:
        """Let the page have what it asked for last."""
        with self.page.expect_response(lambda got: "x-live" in got.request.headers) as got:
            self.asked[-1].continue_()
        got.value.finished()
        self.page.wait_for_timeout(200)

    def pause(self) -> None:
        self.page.evaluate("() => document.dispatchEvent(new CustomEvent('live:pause'))")

    def lives(self, sockets: int) -> None:
        """It has a socket again, this one in all."""
        until(lambda: self.page.wait_for_timeout(20) or len(self.sockets) == sockets)


@pytest.fixture
def desk(world: World, chromium: Browser) -> Iterator[Desk]:
    with page_of_our_own(world, chromium) as (page, sockets):
        made = Desk(page, sockets)
        page.route(
            "**/page/**", lambda route: made.asked.append(route) if "x-live" in route.request.headers else route.continue_()
        )
        page.evaluate("() => document.getElementById('main').insertAdjacentHTML('beforeend', '<i id=\"mark\">old</i>')")
        yield made


def test_a_page_that_takes_its_place_and_has_no_socket_stays(desk: Desk) -> None:
    desk.resync()
    desk.page.evaluate(
        """() => htmx.swap({ target: document.getElementById("main"), text: '<main id="main">There is no such task.</main>',
                             swap: "outerMorph", sourceElement: document.body })"""
    )
    expect(desk.page.locator("#main")).to_have_text("There is no such task.")
    desk.answer()
    expect(desk.page.locator("#main")).to_have_text("There is no such task.")
    desk.lives(2)


def test_a_page_that_is_paused_meanwhile_stands_still_and_comes_up_to_date_when_it_goes_on(desk: Desk) -> None:
    desk.resync()
    desk.pause()
    desk.answer()
    expect(desk.page.locator("#mark")).to_have_text("old")
    desk.lives(2)
    desk.pause()
    desk.hold(2)
    desk.answer()
    expect(desk.page.locator("#mark")).to_have_count(0)
    desk.lives(3)


def test_a_page_that_is_paused_before_it_tries_again_hears_what_is_asked(desk: Desk) -> None:
    desk.resync()
    desk.asked[-1].abort()
    desk.pause()
    desk.lives(2)
    assert len(desk.asked) == 1, "nothing on a page that is paused moves"


def test_what_cannot_be_put_is_fetched_again(desk: Desk) -> None:
    desk.page.evaluate(
        """() => Object.defineProperty(document, "title", {
             configurable: true, get: () => "", set() { delete document.title; throw new Error("no"); }
           })"""
    )
    desk.resync()
    desk.answer()
    desk.hold(2)
    desk.answer()
    expect(desk.page.locator("#mark")).to_have_count(0)
    desk.lives(2)


def test_what_follows_from_blocks_that_have_changed_is_done_after_it_too(desk: Desk) -> None:
    desk.page.evaluate("() => { window.shown = 0; document.addEventListener('page:shown', () => { window.shown += 1; }); }")
    desk.resync()
    desk.answer()
    assert desk.page.evaluate("window.shown") == 1


LEAVE, COME_BACK = (
    f"() => dispatchEvent(new PageTransitionEvent('{name}', {{ persisted: true }}))" for name in ("pagehide", "pageshow")
)
"""What a browser tells a page that it keeps while another is looked at (Playwright's Chromium keeps none)."""


def test_a_page_that_the_browser_kept_goes_on_where_it_was(desk: Desk) -> None:
    desk.sockets[-1].send('{"seq": "s7", "html": {}}')
    desk.page.evaluate(LEAVE)
    desk.page.evaluate("() => dispatchEvent(new Event('online'))")
    desk.page.wait_for_timeout(300)
    assert len(desk.sockets) == 1, "a page that is away hears nothing"
    desk.page.evaluate(COME_BACK)
    desk.lives(2)
    assert "since=s7" in desk.sockets[-1].url
    assert not desk.asked, "nothing was missed that the socket does not bring"


def test_a_page_that_was_left_while_it_was_fetched_is_fetched_again(desk: Desk) -> None:
    """What it had asked for then never comes."""
    desk.resync()
    desk.page.evaluate(LEAVE)
    desk.page.evaluate(COME_BACK)
    desk.hold(2)
    desk.answer()
    expect(desk.page.locator("#mark")).to_have_count(0)
    desk.lives(2)
