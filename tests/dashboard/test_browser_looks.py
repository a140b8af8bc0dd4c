"""What a page may cost a browser, what must not move on it, and how it looks in the colours of the system."""

from typing import Any

from playwright.sync_api import Page, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard.browser_desk import RealDesk

pytest_plugins = ["tests.services_fixtures", "tests.chromium", "tests.dashboard.browser_desk"]
pytestmark = IN_CHROMIUM
SHIFTS = """
  window.shifted = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifted += one.value;
  }).observe({ type: "layout-shift", buffered: true });
"""
PARTS = """(selector) => [...document.querySelectorAll(selector)].map((one) => {
  const { fill, height, stroke, strokeWidth } = getComputedStyle(one);
  return [one.classList[0], `${fill} ${height} ${stroke} ${strokeWidth}`];
})"""
BORDERS = (
    """(selector) => [...document.querySelectorAll(selector)].map((one) => parseFloat(getComputedStyle(one).borderBottomWidth))"""
)
IDS = "(all) => all.map((one) => one.id)"
expect.set_options(timeout=10_000)


def test_the_first_page_takes_eight_requests_and_nothing_on_it_moves_while_it_changes(real_desk: RealDesk, contexts: Any) -> None:
    page: Page = contexts().new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(SHIFTS)
    page.goto(real_desk.server.url + "/")
    expect(page.locator("html")).to_have_attribute("data-conn", "live")
    assert len([url for url in asked if not url.startswith("data:")]) <= 8, asked
    page.evaluate("window.shifted = 0")
    tokens = page.locator("[aria-labelledby^=t-]", has_text="Atlas").get_by_text("tok").first
    before = tokens.text_content()
    assert real_desk.server.python("from tests.dashboard import browser_world; print(browser_world.burst(50))") == 50
    expect(tokens).not_to_have_text(before or "")
    expect(page.get_by_text("48 a word")).to_be_visible()
    assert page.evaluate("window.shifted") <= 0.02


def test_with_the_colours_of_the_system_states_and_bars_are_still_told_apart(real_desk: RealDesk, contexts: Any) -> None:
    for scheme in ("light", "dark"):
        page: Page = contexts(forced_colors="active", color_scheme=scheme).new_page()
        page.goto(real_desk.server.url + "/")
        looks = dict(page.evaluate(PARTS, ".seg rect"))
        assert set(looks) == set("drwbfq")
        assert len(set(looks.values())) == len(looks), looks
        window = dict(page.evaluate(PARTS, ".win rect"))
        assert len(set(window.values())) == len(window), window
        level = dict(page.evaluate(PARTS, ".meter[role=meter] rect"))
        assert all(look != level["mark"] for css, look in level.items() if css != "mark"), level
        assert all(width >= 1 for width in page.evaluate(BORDERS, ".pill, .badge, .kpi, .nav [aria-current]"))
        assert all(
            page.locator(".pill").evaluate_all("(all) => all.map((one) => one.textContent.trim() && one.querySelector('svg'))")
        )


def test_a_list_that_is_open_keeps_its_order_until_it_is_told_to_sort_again(real_desk: RealDesk, contexts: Any) -> None:
    """What is new and blocks work comes last all the same: no row moves under the pointer."""
    page: Page = contexts().new_page()
    page.goto(real_desk.server.url + "/inbox/")
    expect(page.locator("html")).to_have_attribute("data-conn", "live")
    rows, button = page.locator("#inbox-list .item"), page.get_by_role("button", name="Order changed. Sort again")
    before = rows.evaluate_all(IDS)
    expect(button).to_be_hidden()
    first = ask(real_desk, "May I go on?", blocks=False)
    expect(page.locator(f"#row-{first}")).to_be_visible()
    expect(button).to_be_hidden()  # the newest of those that can wait is last anyway
    second = ask(real_desk, "Others wait for this", blocks=True)
    expect(button).to_be_visible()
    assert rows.evaluate_all(IDS) == [*before, f"row-{first}", f"row-{second}"]
    button.click()
    expect(button).to_be_hidden()
    after = rows.evaluate_all(IDS)
    assert after == [f"row-{second}", *before, f"row-{first}"]
    page.reload()
    assert rows.evaluate_all(IDS) == after  # as the server sorts


def ask(real_desk: RealDesk, title: str, *, blocks: bool) -> str:
    made = f"browser_world.ask({title!r}, blocks={blocks})"
    return str(real_desk.server.python(f"import json; from tests.dashboard import browser_world; print(json.dumps({made}))"))
