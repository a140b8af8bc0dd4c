"""Makes the pictures of the README from a real, rehearsed run: `uv run python docs/picture.py`.

Starts a desk on a home of its own, plays the billing example with its scripted lead, holds at the first moment that shows
most, signs in with the one-time link and takes pictures with Chromium. Ends what it started.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "img"
CHROMIUM = "/usr/bin/chromium"
PICTURES: tuple[tuple[str, str, int, int, Literal["light", "dark"]], ...] = (
    ("overview-desk", "/", 1280, 520, "light"),
    ("inbox-desk-dark", "/inbox/", 1280, 800, "dark"),
    ("board-phone", "/teams/billing-feature/", 390, 844, "light"),
)
LINK = re.compile(r"http://127\.0\.0\.1:\d+/sign-in/\S+")
LEAD_S = 3
"""Seconds of the story before the pictures: so long that all four agents ask, and too short for the lead to answer them all."""


def main() -> None:
    """Make every picture."""
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="crewdesk-picture-") as folder:
        env = {**os.environ, "CREWDESK_HOME": f"{folder}/home"}
        port = _free_port()
        log = Path(folder, "up.log")
        with log.open("wb") as file:
            command = [sys.executable, "manage.py", "up", "--rehearse", "--no-browser", "--port", str(port)]
            desk = subprocess.Popen(command, cwd=ROOT, env=env, stdout=file, stderr=subprocess.STDOUT)
        try:
            link = _wait_for_link(log)
            _play(env)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                _take(browser, link, port)
                browser.close()
        finally:
            desk.send_signal(signal.SIGINT)
            desk.wait(timeout=30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for_link(log: Path) -> str:
    for _ in range(600):
        if found := LINK.search(log.read_text("utf-8", "replace")):
            return found[0]
        time.sleep(0.1)
    raise SystemExit(f"`up` did not come up:\n{log.read_text()}")


def _play(env: dict[str, str]) -> None:
    plan, lead = "examples/billing/plan.yaml", "examples/billing/lead.yaml"
    command = [
        sys.executable,
        "manage.py",
        "team",
        "start",
        plan,
        "--rehearse",
        "--lead",
        lead,
        "--wait",
        "--timeout",
        str(LEAD_S),
    ]
    subprocess.run(command, cwd=ROOT, env=env, check=False, stdout=subprocess.DEVNULL)


def _take(browser: Browser, link: str, port: int) -> None:
    state = None
    for name, path, width, height, theme in PICTURES:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, storage_state=state)
        page = context.new_page()
        if state is None:
            page.goto(link)
            page.get_by_role("button").first.click()
            page.wait_for_load_state()
            state = context.storage_state()
        page.goto(f"http://127.0.0.1:{port}{path}")
        page.wait_for_timeout(6000)  # past the note "Caught up"
        page.screenshot(path=OUT / f"{name}.png")
        context.close()


if __name__ == "__main__":
    main()
