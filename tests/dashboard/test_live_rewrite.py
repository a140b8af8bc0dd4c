"""What live.js does with a frame: texts are put in place, what is made otherwise is morphed, no row is taken for another."""

import json
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard.live_support import World, page_of_our_own

pytest_plugins = ["tests.services_fixtures", "tests.chromium", "tests.dashboard.live_fixtures"]
pytestmark = IN_CHROMIUM
Put = Callable[[str], None]
PROBE = """(html) => {
  document.getElementById("main").insertAdjacentHTML("beforeend", html);
  window.swaps = 0;
  document.addEventListener("htmx:after:swap", () => { window.swaps += 1; });
  for (const node of document.querySelectorAll("#probe, #probe *")) node.known = true;
}"""
CARD = """<article id="probe" class="{css}"{more}><h3><a href="/tasks/1/">{title}</a></h3>
<details><summary>More</summary><p>{text}</p></details></article>"""


@pytest.fixture
def own(world: World, chromium: Browser) -> Iterator[tuple[Page, WebSocketRoute]]:
    with page_of_our_own(world, chromium) as (page, sockets):
        yield page, sockets[-1]


@pytest.fixture
def page(own: tuple[Page, WebSocketRoute]) -> Page:
    return own[0]


@pytest.fixture
def put(own: tuple[Page, WebSocketRoute]) -> Put:
    """Send the block `probe` to the page as a frame does; returns when it is there."""
    page, socket = own
    count = iter(range(1, 100))

    def _put(html: str) -> None:
        number = next(count)
        socket.send(json.dumps({"seq": f"s{number}", "html": {"probe": html, "mark": f'<i id="mark">{number}</i>'}}))
        expect(page.locator("#mark")).to_have_text(str(number))

    page.evaluate("() => document.getElementById('main').insertAdjacentHTML('beforeend', '<i id=\"mark\">0</i>')")
    return _put


def card(css: str = "calm", more: str = "", title: str = "One", text: str = "begins") -> str:
    return CARD.format(css=css, more=more, title=title, text=text)


def known(page: Page, selector: str) -> bool:
    """Whether the element is the one that was there at first."""
    return bool(page.evaluate("(selector) => document.querySelector(selector).known === true", selector))


def test_texts_and_attributes_are_put_without_a_morph_and_what_is_open_stays_open(page: Page, put: Put) -> None:
    page.evaluate(PROBE, card(more=' title="old"'))
    page.locator("#probe summary").click()
    put(card(css="warn", more=' data-rank="2"', title="Two & <b>", text="goes on").replace("<b>", "&lt;b&gt;"))
    probe = page.locator("#probe")
    expect(probe.locator("a")).to_have_text("Two & <b>")
    expect(probe.locator("p")).to_have_text("goes on")
    expect(probe).to_have_attribute("class", "warn")
    assert (probe.get_attribute("title"), probe.get_attribute("data-rank")) == (None, "2")
    expect(probe.locator("details")).to_have_attribute("open", "")
    assert known(page, "#probe a")
    assert page.evaluate("window.swaps") == 0


@pytest.mark.parametrize(
    "other",
    [
        card().replace("/tasks/1/", "/tasks/2/"),
        card().replace("<p>", "<p>new <b>and bold</b> "),
        card().replace("<p>", "<pre>").replace("</p>", "</pre>"),
        card(more=' hx-get="/x/"'),
    ],
    ids=["leads elsewhere", "made of more", "made of another", "asks elsewhere"],
)
def test_what_is_made_otherwise_is_morphed(page: Page, put: Put, other: str) -> None:
    page.evaluate(PROBE, card())
    put(other)
    assert page.evaluate("window.swaps") > 0
    there = page.evaluate("() => document.getElementById('probe').outerHTML")
    assert re.sub(r' data-htmx-powered="[^"]*"', "", there) == other, "all of it is on the page"


def test_a_row_that_has_moved_up_is_the_same_row_with_its_focus(page: Page, put: Put) -> None:
    def rows(*numbers: int) -> str:
        return '<ol id="probe">' + "".join(f'<li><a href="/tasks/{n}/">Task {n}</a></li>' for n in numbers) + "</ol>"

    page.evaluate(PROBE, rows(1, 2, 3))
    page.locator("#probe a").nth(1).focus()
    put(rows(2, 3, 4))
    expect(page.locator("#probe a").first).to_be_focused()
    assert known(page, "#probe li:first-child a")
    assert page.locator("#probe a").all_text_contents() == ["Task 2", "Task 3", "Task 4"]


def test_a_field_keeps_what_was_typed_when_its_block_changes_around_it(page: Page, put: Put) -> None:
    html = '<form id="probe"><label>{} <input name="note" value=""></label></form>'
    page.evaluate(PROBE, html.format("Note"))
    page.locator("#probe input").fill("half a sent")
    page.locator("#probe input").blur()
    put(html.format("Your note"))
    expect(page.locator("#probe label")).to_have_text("Your note")
    expect(page.locator("#probe input")).to_have_value("half a sent")


def test_a_page_whose_frames_take_long_rests_between_them(page: Page, put: Put) -> None:
    page.evaluate(PROBE, card())
    page.evaluate(
        """() => { window.looks = [];
        const slow = () => { const now = performance.now(); window.looks.push(now); while (performance.now() < now + 60); };
        new MutationObserver(slow).observe(document.getElementById("probe"), {subtree: true, characterData: true}); }"""
    )
    for number in range(3):
        put(card(title=f"Step {number}"))
    first, second, third = page.evaluate("window.looks")
    assert min(second - first, third - second) >= 3 * 60, "what takes 60 ms of every quarter of a second leaves time for others"
