"""What a page may cost a browser, and how it looks to who has chosen the colours of the system."""

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
