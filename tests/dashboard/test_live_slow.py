"""A page that is slow: each block has its turn, what is around a block comes first, what is not shown is not acknowledged."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard.live_support import World, page_of_our_own

pytest_plugins = ["tests.services_fixtures", "tests.chromium", "tests.dashboard.live_fixtures"]
pytestmark = IN_CHROMIUM
BLOCKS, COST_MS, EVERY_MS = 40, 15, 150
SLOW = """(ms) => {
  const equal = Node.prototype.isEqualNode;
  Node.prototype.isEqualNode = function (other) {
    const until = performance.now() + (this.dataset && "slow" in this.dataset ? ms : 0);
    while (performance.now() < until);
    return equal.call(this, other);
  };
}"""
"""To look at such a block takes so long."""
SENDS = """() => {
  window.sends = [];
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (text) {
    window.sends.push([JSON.parse(text).ack, document.getElementById("mark").textContent]);
    return send.call(this, text);
  };
}"""
"""What the page says, and what it shows when it does."""
STILL = """() => {
  const now = Date.now(), later = window.setTimeout;
  Date.now = () => now;
  window.setTimeout = (what, ms, ...more) => ms === 1000 ? 0 : later(what, ms, ...more);
}"""
"""No second passes any more."""


@dataclass
class Desk:
    """A page whose socket is the test's own."""

    page: Page
    socket: WebSocketRoute
    sent: int = field(default=0)

    def add(self, html: str) -> None:
        self.page.evaluate("(html) => document.getElementById('main').insertAdjacentHTML('beforeend', html)", html)

    def send(self, **html: str) -> None:
        self.sent += 1
        self.socket.send(json.dumps({"seq": f"s{self.sent}", "html": html}))

    def pause(self) -> None:
        """Pause the page, or let it go on: what comes meanwhile is shown together."""
        self.page.evaluate("() => document.dispatchEvent(new CustomEvent('live:pause'))")

    def sends(self) -> list[list[Any]]:
        return list(self.page.evaluate("window.sends"))


@pytest.fixture
def desk(world: World, chromium: Browser) -> Iterator[Desk]:
    with page_of_our_own(world, chromium) as (page, sockets):
        made = Desk(page, sockets[-1])
        made.add('<i id="mark">0</i>')
        yield made


def block(number: int, text: object) -> str:
    return f'<p id="slow{number}" data-slow="">{text}</p>'


def test_every_block_has_its_turn_where_all_of_them_change_faster_than_they_can_be_shown(desk: Desk) -> None:
    desk.add("".join(block(number, 0) for number in range(BLOCKS)))
    desk.page.evaluate(SLOW, COST_MS)
    for step in range(1, 21):
        desk.send(**{f"slow{number}": block(number, step) for number in range(BLOCKS)})
        desk.page.wait_for_timeout(EVERY_MS)
    shown = [int(desk.page.locator(f"#slow{number}").inner_text()) for number in (0, BLOCKS // 2, BLOCKS - 1)]
    assert min(shown) > 5, shown
    expect(desk.page.locator(f"#slow{BLOCKS - 1}")).to_have_text("20")


BOX = '<div id="box"><p id="inner">{}</p></div>'
INNER = '<p id="inner">{}</p>'


@pytest.mark.parametrize(
    "frames",
    [
        [("box", 1), ("inner", 2)],
        [("inner", 1), ("box", 2)],
        [("inner", 1), ("box", 2), ("inner", 3)],
        [("box", 1), ("inner", 2), ("box", 3)],
    ],
    ids=lambda frames: "-".join(name for name, _ in frames),
)
def test_of_a_block_and_what_is_around_it_the_newest_is_shown_in_whatever_order_they_were_heard(
    desk: Desk, frames: list[tuple[str, int]]
) -> None:
    desk.add(BOX.format(0))
    desk.pause()
    for name, number in frames:
        desk.send(**{name: (BOX if name == "box" else INNER).format(number)})
    desk.send(mark='<i id="mark">1</i>')
    desk.page.wait_for_timeout(200)
    desk.pause()
    expect(desk.page.locator("#mark")).to_have_text("1")
    expect(desk.page.locator("#inner")).to_have_text(str(frames[-1][1]))


@pytest.mark.parametrize("queued", ["box", "inner", "inner box", "box inner"])
def test_one_frame_with_a_block_and_what_is_around_it_shows_what_stands_last_in_it(desk: Desk, queued: str) -> None:
    """Only a page that was owed several frames gets such a one: the oldest comes first."""
    desk.add(BOX.format(0))
    desk.pause()
    for name in queued.split():
        desk.send(**{name: (BOX if name == "box" else INNER).format(1)})
    desk.send(box=BOX.format(2), inner=INNER.format(3), mark='<i id="mark">1</i>')
    desk.page.wait_for_timeout(200)
    desk.pause()
    expect(desk.page.locator("#mark")).to_have_text("1")
    expect(desk.page.locator("#inner")).to_have_text("3")


FORM = '<div id="box"><form id="form"><input id="field" name="note"></form><p id="inner">{}</p></div>'


def test_a_block_whose_surroundings_are_held_is_shown_and_not_put_back_when_they_come(desk: Desk) -> None:
    desk.add(FORM.format(0))
    desk.page.locator("#field").fill("half a sent")
    desk.send(box=BOX.format(1))
    desk.page.wait_for_timeout(300)
    desk.send(inner=INNER.format(2))
    expect(desk.page.locator("#inner")).to_have_text("2")
    desk.page.locator("#field").blur()
    expect(desk.page.locator("#field")).to_have_count(0)
    expect(desk.page.locator("#inner")).to_have_text("2")


def test_a_block_is_shown_though_two_around_it_wait_for_somebody_who_types(desk: Desk) -> None:
    """The outermost cannot be shown, the next can and must be again after it: the innermost is not asked for without end."""
    box = '<div id="box">{}<div id="nest"><b id="nest-word">{}</b>{}</div></div>'
    form = '<form id="form"><input id="field" name="note"></form>'
    desk.add(box.format(form, 0, INNER.format(0)))
    desk.page.locator("#field").fill("half a sent")
    desk.pause()
    nest = f'<div id="nest"><b id="nest-word">2</b>{INNER.format(2)}</div>'
    desk.send(box=box.format("", 1, INNER.format(1)))
    desk.send(nest=nest)
    desk.send(inner=INNER.format(3))
    desk.page.wait_for_timeout(200)
    problems: list[str] = []
    desk.page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    desk.pause()
    expect(desk.page.locator("#inner")).to_have_text("3")
    desk.page.locator("#field").blur()
    expect(desk.page.locator("#field")).to_have_count(0)
    expect(desk.page.locator("#inner")).to_have_text("3")
    expect(desk.page.locator("#nest-word")).to_have_text("2")
    assert problems == []


HELD = '<div id="held" data-hold><b id="word">{}</b></div>'


def test_what_is_under_the_pointer_is_held_while_that_moves_now_and_then(desk: Desk) -> None:
    desk.add(HELD.format(0))
    desk.page.locator("#word").hover()
    desk.send(held=HELD.format(1), mark='<i id="mark">1</i>')
    expect(desk.page.locator("#mark")).to_have_text("1")
    desk.page.wait_for_timeout(1200)
    expect(desk.page.locator("#word")).to_have_text("0")
    desk.page.evaluate("() => { const now = Date.now; Date.now = () => now() + 31_000; }")
    expect(desk.page.locator("#word")).to_have_text("1")


def test_a_finger_holds_nothing(desk: Desk) -> None:
    """To a phone the pointer is, until the next touch, where the last one was (Chromium without a screen does not do that)."""
    desk.add(HELD.format(0))
    desk.page.locator("#word").hover()
    desk.page.evaluate(
        """() => {
          const now = Date.now;
          Date.now = () => now() + 31_000;
          document.dispatchEvent(new PointerEvent("pointermove", { pointerType: "touch" }));
        }"""
    )
    assert desk.page.evaluate("document.getElementById('held').matches(':hover')")
    desk.send(held=HELD.format(1))
    expect(desk.page.locator("#word")).to_have_text("1")


def test_a_field_that_is_typed_in_gets_in_the_end_what_was_heard_last(desk: Desk) -> None:
    field = '<form id="form"><input id="field" name="note"><b>{}</b></form>'
    desk.add(f'<div id="box">{field.format(0)}</div>')
    desk.page.locator("#field").fill("half a sent")
    desk.send(box=f'<div id="box">{field.format(1)}</div>', form=field.format(2))
    desk.page.wait_for_timeout(300)
    expect(desk.page.locator("#form b")).to_have_text("0")
    desk.page.locator("#field").blur()
    expect(desk.page.locator("#form b")).to_have_text("2")


def test_a_block_that_cannot_be_put_keeps_no_other_and_no_acknowledgement_back(desk: Desk) -> None:
    desk.add('<p id="bad">0</p>')
    desk.page.evaluate("() => { document.getElementById('bad').isEqualNode = () => { throw new Error('no'); }; }")
    desk.page.evaluate(SENDS)
    desk.send(bad='<p id="bad">1</p>')
    desk.send(mark='<i id="mark">1</i>')
    expect(desk.page.locator("#mark")).to_have_text("1")
    desk.page.wait_for_function("() => window.sends.length >= 1", timeout=3000)


def test_a_block_that_another_brings_is_shown_as_it_was_heard_last(desk: Desk) -> None:
    desk.add('<div id="box"></div>')
    desk.pause()
    desk.send(box=BOX.format(1))
    desk.send(inner=INNER.format(2))
    desk.page.wait_for_timeout(200)
    desk.pause()
    expect(desk.page.locator("#inner")).to_have_text("2")


def test_what_is_not_shown_is_not_acknowledged(desk: Desk) -> None:
    desk.add(block(1, 0))
    desk.page.evaluate(SLOW, 400)
    desk.page.evaluate(SENDS)
    for step in range(1, 4):
        desk.send(slow1=block(1, step), mark=f'<i id="mark">{step}</i>')
        expect(desk.page.locator("#mark")).to_have_text(str(step))
        desk.page.wait_for_timeout(1100)
    said = desk.sends()
    assert len(said) >= 3
    assert [[cursor, f"s{shown}"] for cursor, shown in said] == [[cursor, cursor] for cursor, _ in said]


def test_much_is_acknowledged_before_the_second_is_over_for_the_server_stops_at_512_kb(desk: Desk) -> None:
    desk.page.evaluate(STILL)
    desk.page.evaluate(SENDS)
    desk.add('<p id="much"></p>')
    for step in range(1, 9):
        desk.send(much=f'<p id="much">{step}{"x" * 50_000}</p>', mark=f'<i id="mark">{step}</i>')
        expect(desk.page.locator("#mark")).to_have_text(str(step))
    assert [cursor for cursor, _ in desk.sends()] == ["s3", "s6"]


def test_a_hidden_page_acknowledges_at_once_what_it_will_show_later(desk: Desk) -> None:
    desk.page.evaluate("() => Object.defineProperty(document, 'hidden', { get: () => true })")
    desk.page.evaluate(SENDS)
    for step in range(1, 4):
        desk.send(mark=f'<i id="mark">{step}</i>')
    desk.page.wait_for_function("() => window.sends.length === 3", timeout=900)
    assert [cursor for cursor, _ in desk.sends()] == ["s1", "s2", "s3"]
    assert desk.page.locator("#mark").inner_text() == "0"


def test_a_paused_page_goes_on_to_acknowledge(desk: Desk) -> None:
    desk.pause()
    desk.page.evaluate(SENDS)
    desk.send(mark='<i id="mark">1</i>')
    desk.page.wait_for_function("() => window.sends.length === 1", timeout=3000)
    desk.page.wait_for_timeout(1100)
    desk.socket.send(json.dumps({"resync": True, "seq": "s9"}))
    desk.page.wait_for_function("() => window.sends.at(-1)[0] === 's9'", timeout=900)
