"""What happens to a page while it is fetched again: it stands still, another takes its place, or what came cannot be put."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

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

    def add(self, html: str) -> None:
        self.page.evaluate("(html) => document.getElementById('main').insertAdjacentHTML('beforeend', html)", html)

    def send(self, **frame: Any) -> None:
        self.sockets[-1].send(json.dumps(frame))

    def resync(self, times: int = 1) -> None:
        """Tell the page to fetch itself; its request is held."""
        self.send(resync=True, seq="s9")
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
        made.add('<i id="mark">old</i>')
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


# what a page that is up to date by its own words must not lack --------------------------------------------------------


HEARD = """() => {
  window.heard = [];
  document.addEventListener("live:decision", (event) => window.heard.push(event.detail.id));
}"""
ASKED = {"type": "decision", "id": "d1", "kind": "plan", "title": "t", "agent": "a", "team": "Atlas"}


@pytest.mark.parametrize(
    "frame",
    [{"html": {"made": '<i id="made" data-made-of="other"></i>'}}, {"resync": True}, {"prev": "another"}],
    ids=["made of other blocks", "to be fetched", "a gap"],
)
def test_what_leads_to_a_fetch_tells_of_requests_all_the_same_and_once(desk: Desk, frame: dict[str, Any]) -> None:
    """The first request into an empty Inbox changes what the page is made of."""
    desk.add('<i id="made" data-made-of="nothing"></i>')
    desk.page.evaluate(HEARD)
    desk.send(seq="s1", wait=1, events=[ASKED], **frame)
    desk.hold(1)
    assert desk.page.evaluate("window.heard") == ["d1"]
    expect(desk.page).to_have_title("(1) Desk")
    desk.answer()
    desk.lives(2)
    desk.send(seq="s2", events=[ASKED, {**ASKED, "id": "d2"}])
    desk.page.wait_for_function("() => window.heard.length > 1")
    assert desk.page.evaluate("window.heard") == ["d1", "d2"]


def test_requests_are_asked_for_from_where_the_page_heard_last_and_not_from_where_it_was_fetched(desk: Desk) -> None:
    """Nobody announces what is opened between the last frame and the fetched page: paused for long, that may be much."""
    fetched = desk.page.locator("#main").get_attribute("data-seq")
    desk.send(seq="s5")
    desk.pause()
    desk.send(resync=True, seq="s6")
    desk.send(prev="s6", seq="s7")
    desk.pause()
    desk.hold(1)
    desk.answer()
    desk.lives(2)
    assert desk.sockets[-1].url.endswith(f"&since={fetched}&heard=s5")
    desk.send(prev=fetched, seq="s8")
    desk.page.wait_for_timeout(100)
    desk.sockets[-1].close(code=4001)
    desk.lives(3)
    assert desk.sockets[-1].url.endswith("&since=s8&heard=s8")


def swapped(desk: Desk, mark: str) -> None:
    """Let the answer to a form take the page's place: read before anything came, so at the position the page began with."""
    desk.page.evaluate(
        """(mark) => {
          const main = document.getElementById("main").cloneNode(true);
          main.querySelector("#mark").textContent = mark;
          htmx.swap({ target: "#main", text: main.outerHTML, select: "#main", swap: "outerMorph", sourceElement: document.body });
        }""",
        mark,
    )


def test_an_answer_that_is_older_than_what_was_heard_is_caught_up_from_where_it_stands(desk: Desk) -> None:
    began = desk.page.locator("#main").get_attribute("data-seq")
    desk.send(seq="s7", html={"mark": '<i id="mark">new</i>'})
    expect(desk.page.locator("#mark")).to_have_text("new")
    swapped(desk, "older")
    desk.lives(2)
    assert desk.sockets[-1].url.endswith(f"&since={began}&heard=s7"), "what was announced is not announced again"
    expect(desk.page.locator("#mark")).to_have_text("older")


def test_what_was_heard_before_another_page_was_put_in_is_not_shown_over_it(desk: Desk) -> None:
    desk.pause()
    desk.send(seq="s7", html={"mark": '<i id="mark">heard</i>', "around": '<p id="around">around</p>'})
    desk.page.wait_for_timeout(200)
    swapped(desk, "newer")
    desk.lives(2)
    desk.pause()
    expect(desk.page.locator("#around")).to_have_text("around")
    expect(desk.page.locator("#mark")).to_have_text("newer")


@pytest.mark.parametrize("slow_ms", [0, 2100], ids=["at once", "by a slow server"])
def test_a_page_that_is_told_to_fetch_itself_again_and_again_waits_longer_each_time(desk: Desk, slow_ms: int) -> None:
    desk.page.unroute("**/page/**")
    asked: list[str] = []
    desk.page.on("request", lambda request: asked.append(request.url) if "x-live" in request.headers else None)
    told, states = 0, set[str | None]()
    for _ in range(60):
        if told < len(desk.sockets):
            told = len(desk.sockets)
            desk.page.wait_for_timeout(slow_ms)
            desk.send(resync=True, seq="s9")
        desk.page.wait_for_timeout(50)
        states.add(desk.page.locator("html").get_attribute("data-conn"))
    assert 2 <= len(asked) <= 4, len(asked)
    assert "reconnecting" in states, "it is not up to date"
    assert "live" not in states


def test_a_page_that_was_good_for_a_while_is_fetched_at_once(desk: Desk) -> None:
    for times in (1, 2):
        desk.send(seq="s8")
        desk.page.wait_for_timeout(2100)
        desk.resync(times)
        desk.answer()
        desk.lives(times + 1)
    assert desk.page.locator("html").get_attribute("data-conn") == "live", "it has never waited"


def test_what_is_held_while_the_page_is_fetched_makes_it_fetch_nothing_again(desk: Desk) -> None:
    desk.add('<form id="gone"><input id="field" name="note"></form>')
    desk.page.locator("#field").fill("half a sent")
    desk.page.evaluate("() => { document.getElementById('main').dataset.seq = 'older'; }")
    desk.resync()
    desk.answer()
    desk.lives(2)
    assert "since=older" not in desk.sockets[-1].url
    expect(desk.page.locator("#field")).to_have_value("half a sent")
    desk.page.locator("#field").blur()
    expect(desk.page.locator("#field")).to_have_count(0)
    assert len(desk.sockets) == 2


def test_a_fetch_that_is_never_answered_is_given_up_and_begun_again(desk: Desk) -> None:
    desk.page.evaluate("() => { const timeout = AbortSignal.timeout; AbortSignal.timeout = (ms) => timeout(ms / 20); }")
    desk.resync()
    desk.hold(2)
    desk.answer()
    expect(desk.page.locator("#mark")).to_have_count(0)
    desk.lives(2)


def test_a_fetch_that_lasts_is_begun_again_when_the_browser_is_back_online(desk: Desk) -> None:
    desk.resync()
    desk.page.wait_for_timeout(2100)
    desk.page.evaluate("() => dispatchEvent(new Event('online'))")
    desk.hold(2)
    assert len(desk.sockets) == 1, "what it has missed is not on it"
    desk.answer()
    desk.lives(2)
