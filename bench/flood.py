"""Flood: agents that shout and browsers that sleep, all at once; memory of worker and web server, and those who do neither.

One worker drives agents that give a tool result of 100 MB, lines of 1.3 MB and 10,000 lines a second, beside two that speak
quietly. The lead has 30 tabs open, some browsers never read, one reads a kilobyte a second. In another team everything is quiet.
"""

import argparse
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import psutil
from django.conf import settings
from django.db import connections

from bench import browser, crew, desk, emitting, fanout, flood_cli, flood_kept, parts
from bench.parts import Parts
from bench.place import Place
from bench.report import Goal, Report
from bench.sleepers import Sleeper
from tasks_app.domain.statuses import TaskStatus
from tasks_app.models import Agent, Run, Task, Team

SHOUTING = ("lines", "line", "result")
QUIET = 2
TABS = 15
"""Of the team's page, and as many of the page of the agent that says 10,000 lines a second."""
SLEEPERS = 5
WORKER_MIB = 300
"""By so much a worker may grow: a message of 64 MB, the largest that is read at all, is there as bytes, text and objects."""
WEB_MIB = 60
LATE_MS = 2000
LEAVE_S = 10.0


@dataclass
class Peak:
    """Memory of a process, in MiB: when the flood began, and its highest since."""

    name: str
    process: psutil.Process
    limit: float
    before: float = 0.0
    highest: float = 0.0

    def look(self) -> None:
        """Take a sample."""
        self.highest = max(self.highest, self.process.memory_info().rss / 2**20)

    def begin(self) -> None:
        """What it has now is where it starts from."""
        self.before = self.highest = self.process.memory_info().rss / 2**20


@dataclass
class Watch:
    """Looks at memory ten times a second."""

    peaks: list[Peak]
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Look until it is over."""
        while not self.over.wait(0.1):
            for peak in self.peaks:
                with contextlib.suppress(psutil.Error):
                    peak.look()


def run(place: Place, options: argparse.Namespace) -> Report:
    """First everybody is quiet, then the flood; the same is measured in both."""
    report = Report("flood")
    seconds = 6.0 if options.quick else 20.0
    with parts.running(place) as house:
        web = house.web()
        worker = house.worker(slots=len(SHOUTING) + QUIET, app="bench.flood_worker")
        team = _start()
        desk.until(partial(_working, team), seconds=60, words="the agents")
        peaks = [Peak("worker", psutil.Process(worker.pid), WORKER_MIB), Peak("web server", psutil.Process(web.pid), WEB_MIB)]
        with emitting.running(place, agents=10, rate=40.0) as emitter, watching(peaks):
            calm = _phase(place, house, emitter, team, seconds=seconds)
            for peak in peaks:
                peak.begin()
            with sleeping(house, f"/agents/{_loudest(team)}/"):
                (place.home / "flood").touch()
                flood = _phase(place, house, emitter, team, seconds=seconds)
            (place.home / "calm").touch()
            _end(team, report)
        _say(report, calm, flood, peaks)
        report.failures += [*unheard(flood["tabs"], TABS, seconds), *flood_kept.wrong(team, place.home)]
        with browser.lead(house.port) as lead:
            report.failures += flood_kept.unsaid(lead, team)
        report.failures += [f"the {peak.name} has ended" for peak in peaks if not peak.process.is_running()]
        number, took = (place.home / "lines").read_text().split()
        report.notes.append(
            f"{float(number) / float(took):,.0f} of {flood_cli.LINES_PER_S:,} lines a second were taken from the process"
        )
    report.notes.append(f"{2 * TABS} tabs, {SLEEPERS} browsers that never read and one that reads 1 kB/s, {seconds:g} s each")
    return report


def _start() -> Team:
    plays = [*SHOUTING, *(f"steady agent{len(SHOUTING) + n:02}" for n in range(1, QUIET + 1))]
    rows = [
        {"title": play.capitalize(), "description": f"[play {play}]", "criteria": ["done"], "assignee": f"agent{n:02}"}
        for n, play in enumerate(plays, 1)
    ]
    return crew.start(crew.plan("Flood", agents=len(plays), tasks=rows, parallel=len(plays)))


def _loudest(team: Team) -> int:
    return Agent.objects.get(team=team, name="agent01").pk


def _working(team: Team) -> bool:
    try:
        return Run.objects.filter(team=team, status="running", last_seq__gt=0).count() == len(SHOUTING) + QUIET
    finally:
        connections.close_all()


def _end(team: Team, report: Report) -> None:
    """The flood is over: every task is done, as if nothing had been."""
    try:
        desk.until(lambda: crew.left(team) == 0, seconds=60, pause_s=0.2, words="the end of the tasks")
    except desk.TooLate:
        left = Task.objects.filter(team=team).exclude(status=TaskStatus.COMPLETED.value).values_list("title", "status")
        report.failures.append(f"tasks were not completed: {', '.join(f'{title} ({status})' for title, status in left)}")


def _phase(place: Place, house: Parts, emitter: emitting.Emitter, team: Team, *, seconds: float) -> dict[str, Any]:
    """Return what was seen meanwhile: by a page of the other team, by tabs of this one, and by the page of its loudest agent."""
    opened = {
        "other": (f"/teams/{emitter.team}/", 1, emitter.period_s),
        "tabs": (f"/teams/{team.slug}/", TABS, flood_cli.EACH_S),
        "loudest": (f"/agents/{_loudest(team)}/", TABS, flood_cli.EACH_S),
    }
    with contextlib.ExitStack() as stack:
        pages = {
            name: stack.enter_context(fanout.open_pages(place, house, path, clients=n, seconds=seconds, period_s=period))
            for name, (path, n, period) in opened.items()
        }
        emitter.begin(seconds)
        last = emitter.ended()
        seen = {name: fanout.seen_by(process) for name, process in pages.items()}
    return seen | {"last": last}


@contextlib.contextmanager
def watching(peaks: list[Peak]) -> Iterator[None]:
    """Look at memory meanwhile."""
    watch = Watch(peaks)
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        watch.over.set()
        thread.join(LEAVE_S)


@contextlib.contextmanager
def sleeping(house: Parts, path: str) -> Iterator[None]:
    """Have browsers open that do not read."""
    url, since, _ = fanout.live_address(house, path)
    cookie = f"{settings.SESSION_COOKIE_NAME}={crew.session()}"
    sleepers = [Sleeper(url, since, cookie, slow=n == SLEEPERS) for n in range(SLEEPERS + 1)]
    try:
        yield
    finally:
        for each in sleepers:
            each.close()


def _say(report: Report, calm: dict[str, Any], flood: dict[str, Any], peaks: list[Peak]) -> None:
    for peak in peaks:
        report.add(f"memory of the {peak.name} before", "MiB", [peak.before])
        report.add("  its highest beyond that", "MiB", [peak.highest - peak.before], Goal("max", peak.limit))
        if peak.highest - peak.before > peak.limit:
            report.failures.append(f"the {peak.name} grew by {peak.highest - peak.before:.0f} MiB")
    for name, words in (("other", "a page of another team"), ("tabs", "the quiet agents of the same worker")):
        report.add(f"step → {words}, quiet", "ms", calm[name]["late_ms"])
        report.add("  in the flood", "ms", flood[name]["late_ms"], Goal("p99", LATE_MS))
        if not flood[name]["late_ms"] or report.figures[-1].stat("p99") > LATE_MS:
            report.failures.append(f"{words}: {report.figures[-1].stat('p99'):,.0f} ms late in the flood")
    report.failures += fanout.lost(flood["other"], flood["last"])
    report.failures += fanout.lost(calm["other"], calm["last"])
    for seen in (calm, flood):
        report.failures += [f"tabs: {line}" for name in ("tabs", "loudest") for line in fanout.broken(seen[name])]


def unheard(seen: dict[str, Any], pages: int, seconds: float) -> list[str]:
    """Return in words whether these pages were shown fewer steps of the quiet agents than those say at their pace."""
    least = int(pages * QUIET * seconds / flood_cli.EACH_S)
    return [f"the quiet agents were shown {seen['count']} times instead of {least}"] if seen["count"] < least else []
