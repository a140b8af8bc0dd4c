"""Live: from an agent's step to the DOM of open pages in a real Chromium, at 50 agents, 200 steps/s and 20 pages."""

import argparse
import contextlib
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import psutil
from playwright.sync_api import Browser, Page

from bench import chromium, crew, emitting, fanout, marks, parts
from bench.marks import Seen
from bench.parts import Parts
from bench.place import Place
from bench.report import Goal, Report

WATCH = """
() => {
  window.seen = []; const known = window.known = {};
  const look = (node) => {
    const now = Date.now() / 1000;
    for (const [, n, agent, at] of node.textContent.matchAll(/step (\\d+) of (agent\\d+) at (\\d+\\.\\d+)/g))
      if (!(known[agent] >= +n)) { known[agent] = +n; window.seen.push([+n, agent, +at, now]); }
  };
  look(document.getElementById('main'));
  window.first = {...known}; window.seen = [];
  const card = ({target}) => (target.closest ? target : target.parentElement)?.closest('article, #main');
  new MutationObserver((records) => new Set(records.map(card)).forEach((node) => node && look(node)))
    .observe(document.body, {subtree: true, childList: true, characterData: true});
}
"""
"""Notes when a step is on the page, and what was there when it was opened.

It reads only what has changed: a probe that reads all of the page would measure itself.
"""
KNOWN = "() => window.known"
SETTLE_S, PATIENCE_S, LOOK_S = 3.0, 120.0, 0.25
"""A page that shows the last step of every agent within the first is in time; within the second it is late, else it lost one."""


def run(place: Place, options: argparse.Namespace) -> Report:
    """One page in a browser while the others are open on machines of their own; then all of them in browsers of this machine."""
    report = Report("live")
    agents, rate, pages, seconds = (10, 40.0, 2, 5.0) if options.quick else (50, 200.0, 20, 30.0)
    # the sync API of the browser keeps an event loop in this thread; the database is only read
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with parts.running(place) as house:
        web = psutil.Process(house.web().pid)
        with emitting.running(place, agents=agents, rate=rate) as emitter, chromium.running() as browser:
            scene = Scene(place, house, web, emitter, browser)
            emitted = 0
            for drawn in (1, pages):
                emitted = _measure(report, scene, emitted, drawn=drawn, elsewhere=pages - drawn, seconds=seconds)
    report.notes.append(f"{agents} agents, {rate:g} steps/s ordered, {pages} pages, {seconds:g} s; a frame period is 250 ms")
    report.notes.append("elsewhere: sockets that follow the page as live.js does; another machine would draw them")
    return report


@dataclass(frozen=True)
class Scene:
    """What a measurement stands on."""

    place: Place
    house: Parts
    web: psutil.Process
    emitter: emitting.Emitter
    browser: Browser


def _measure(report: Report, scene: Scene, emitted: int, *, drawn: int, elsewhere: int, seconds: float) -> int:
    """Open the pages, let the agents speak, read what the pages have shown and when; `emitted` before, returns how much now."""
    cookie, path = crew.session(), f"/teams/{scene.emitter.team}/"
    opened = [chromium.open_page(scene.browser, scene.house.port, path, cookie) for _ in range(drawn)]
    for page in opened:
        page.evaluate(WATCH)
    with _elsewhere(scene, path, clients=elsewhere, seconds=seconds) as sockets:
        before, begun = scene.web.cpu_times(), time.monotonic()
        scene.emitter.begin(seconds)
        last = scene.emitter.ended()
        took, after = time.monotonic() - begun, scene.web.cpu_times()
        caught_up_s, unseen = _caught_up(opened, last)
        if sockets:
            report.failures += fanout.lost(fanout.seen_by(sockets), last)
    late = [each for page in opened for each in _read(page, scene.emitter.period_s).late_ms]
    for page in opened:
        page.context.close()
    where = f"{drawn} drawn here, {elsewhere} elsewhere" if elsewhere else f"all {drawn} drawn here"
    report.add(f"step → DOM of an open page ({where})", "ms", late, Goal("p50", 150), Goal("p99", 400))
    report.add("  processor of the web process", "cores", [(after.user + after.system - before.user - before.system) / took])
    report.add(
        "  steps per second, as they were stored",
        "steps/s",
        [(sum(last.values()) - emitted) / took],
        fanout.pace(scene.emitter.rate),
    )
    report.add("  last step stored → a page shows the last of every agent", "s", caught_up_s)
    if tardy := sum(1 for each in caught_up_s if each > SETTLE_S):
        report.notes.append(f"{where}: {tardy} were late, they showed the last step of every agent after {SETTLE_S:g} s")
    if unseen:
        report.failures.append(f"{where}: {sum(unseen)} steps were not shown by {len(unseen)} pages after {PATIENCE_S:g} s")
    return sum(last.values())


def _elsewhere(
    scene: Scene, path: str, *, clients: int, seconds: float
) -> "AbstractContextManager[subprocess.Popen[str] | None]":
    if not clients:
        return contextlib.nullcontext()
    return fanout.open_pages(scene.place, scene.house, path, clients=clients, seconds=seconds, period_s=scene.emitter.period_s)


def _caught_up(pages: Sequence[Page], last: Mapping[str, int]) -> tuple[list[float], list[int]]:
    """Wait until the pages show these last steps; returns after how many seconds each did, and how many steps others lack."""
    begun, took, left = time.monotonic(), list[float](), list(pages)
    while left and time.monotonic() - begun < PATIENCE_S:
        for page in [one for one in left if not marks.unseen(one.evaluate(KNOWN), last)]:
            took.append(time.monotonic() - begun)
            left.remove(page)
        time.sleep(LOOK_S)
    return took, [marks.unseen(page.evaluate(KNOWN), last) for page in left]


def _read(page: Page, period_s: float) -> Seen:
    seen = Seen(period_s, page.evaluate("() => window.first"))
    rows: list[list[Any]] = page.evaluate("() => window.seen")
    for number, agent, at, now in rows:
        seen.note([(int(number), str(agent), float(at))], float(now))
    return seen
