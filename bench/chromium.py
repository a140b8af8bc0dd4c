"""A real browser for the benchmarks that need one, and what to say where there is none."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from playwright.sync_api import Browser, Page, sync_playwright

from bench.missing import NoChromium

HOW = "Chromium is not installed. Debian: apt-get install chromium; or: uv run playwright install chromium."
SHOWN = ("--disable-renderer-backgrounding", "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows")
"""Every page counts as looked at, as on many desks; a browser draws nothing in windows that are covered."""


@contextlib.contextmanager
def running() -> Iterator[Browser]:
    """Yield a Chromium; raises `NoChromium`, which says how to get one."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        if path is None and not Path(playwright.chromium.executable_path).exists():
            raise NoChromium(HOW)
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
