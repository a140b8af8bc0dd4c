"""Live: from an agent's step to the DOM of open pages in a real Chromium, at 50 agents, 200 steps/s and 20 pages."""

import argparse
import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from django.conf import settings
from playwright.sync_api import Browser, Page, sync_playwright

from bench import crew, emitting, parts
from bench.marks import Seen
from bench.place import Place
from bench.report import Goal, Report

WATCH = """
() => {
  window.seen = []; const known = {};
  const look = (node) => {
    const now = Date.now() / 1000;
    for (const [, n, agent, at] of node.textContent.matchAll(/step (\\d+) of (agent\\d+) at (\\d+\\.\\d+)/g))
      if (!(known[agent] >= +n)) { known[agent] = +n; window.seen.push([+n, agent, +at, now]); }
  };
  look(document.getElementById('main'));
  const card = ({target}) => (target.closest ? target : target.parentElement)?.closest('article, #main');
  new MutationObserver((records) => new Set(records.map(card)).forEach((node) => node && look(node)))
    .observe(document.body, {subtree: true, childList: true, characterData: true});
}
"""
"""Notes when a step is on the page. It reads only what has changed: a probe that reads all of the page would measure itself."""
HOW = "Chromium is not installed. Debian: apt-get install chromium; or: uv run playwright install chromium."
SETTLE_S = 3.0
SHOWN = ("--disable-renderer-backgrounding", "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows")
"""Every page counts as looked at, as on many desks; a browser draws nothing in windows that are covered."""


def run(place: Place, options: argparse.Namespace) -> Report:
    """Open the pages, let the agents speak, read what the pages have shown and when."""
    report = Report("live")
    agents, rate, pages, seconds = (10, 40.0, 2, 5.0) if options.quick else (50, 200.0, 20, 30.0)
    # the sync API of the browser keeps an event loop in this thread; the database is only read
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with parts.running(place) as house:
        web, cookie = house.web(), crew.session()
        with emitting.running(place, agents=agents, rate=rate) as emitter, chromium() as browser:
            opened = [open_page(browser, house.port, f"/teams/{emitter.team}/", cookie) for _ in range(pages)]
            for page in opened:
                page.evaluate(WATCH)
            before = psutil.Process(web.pid).cpu_times()
            begun = time.monotonic()
            emitter.begin(seconds)
            last = emitter.ended()
            took, after = time.monotonic() - begun, psutil.Process(web.pid).cpu_times()
            opened[0].wait_for_timeout(SETTLE_S * 1000)
            shown = [_read(page, emitter.period_s) for page in opened]
    late = [each for seen in shown for each in seen.late_ms]
    report.add(f"step → DOM of {pages} open pages", "ms", late, Goal("p50", 150), Goal("p99", 400))
    report.add("processor of the web process", "cores", [(after.user + after.system - before.user - before.system) / took])
    report.add("steps per second, as they were stored", "steps/s", [sum(last.values()) / took])
    behind = sum(1 for seen in shown if any(seen.last.get(agent) != number for agent, number in last.items()))
    if behind:
        steps = [f"{min(seen.last.values(), default=0)} of {max(last.values())}" for seen in shown]
        report.failures.append(f"{behind} pages do not show the last step of every agent: {', '.join(steps[:5])}")
    report.notes.append(
        f"{agents} agents, {rate:g} steps/s ordered, {pages} pages in Chromium, {seconds:g} s; a frame period is 250 ms"
    )
    return report


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a Chromium; raises RuntimeError that says how to get one."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        if path is None and not Path(playwright.chromium.executable_path).exists():
            raise RuntimeError(HOW)
        args = [*SHOWN, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = playwright.chromium.launch(executable_path=path, args=args)
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser: Browser, port: int, path: str, cookie: str) -> Page:
    """Open a page as the person of that session, in a window of its own, with its socket open."""
    context = browser.new_context()
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": f"http://127.0.0.1:{port}"}])
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{port}{path}")
    page.wait_for_timeout(500)
    return page


def _read(page: Page, period_s: float) -> Seen:
    seen = Seen(period_s)
    rows: list[list[Any]] = page.evaluate("() => window.seen")
    for number, agent, at, now in rows:
        seen.note([(int(number), str(agent), float(at))], float(now))
    return seen
