"""Soak: memory of the worker, the web server and an open page while small teams come and go for a long time.

The first fifth of the samples is warm-up. The median of the last fifth against that of the second says whether memory is flat.
"""

import argparse
import json
import math
import os
import statistics
import time
from dataclasses import dataclass, field
from functools import partial

import yaml

from bench import chromium, crew, desk, parts
from bench.place import Place
from bench.report import Goal, Report
from tasks_app.models import Team
from tasks_app.services import events, teams

MINUTES = 60.0
QUICK_MINUTES = 1.0
TEAM_TASKS = 3
FLAT = (0.90, 1.10)
"""± 10 %: what fell by more had not settled at the beginning, so it says as little as what grew."""
ENOUGH = 25
"""Samples: a fifth of them has to have a median that one team more or less does not move."""
HEAP = ("usedSize", "embedderHeapUsedSize", "backingStorageSize")
"""What scripts hold: objects, elements of the page, buffers. Older browsers tell the first only."""
TURNS = [
    {"say": f"Step {n}.", "call": {"tool": "Bash", "input": {"command": f"echo {n} >> {{task}}.log", "description": "Work"}}}
    for n in range(5)
]
SCRIPT = yaml.safe_dump({"parts": [{"turns": [*TURNS, {"say": "I report.", "call": {"complete": "done"}}, {"say": "Done."}]}]})


@dataclass
class Curve:
    """Memory of one thing over time, in MiB."""

    name: str
    samples: list[float] = field(default_factory=list)

    def growth(self) -> float:
        """Return the median of the last fifth ÷ that of the second: the first is warm-up. Not a number without five samples."""
        fifth = len(self.samples) // 5
        if not fifth:
            return math.nan
        return statistics.median(self.samples[-fifth:]) / statistics.median(self.samples[fifth : 2 * fifth])


def run(place: Place, options: argparse.Namespace) -> Report:
    """Play team after team; the page stays on the Overview all the time."""
    report = Report("soak")
    minutes = options.minutes or (QUICK_MINUTES if options.quick else MINUTES)
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # the browser keeps an event loop in this thread
    curves = [Curve("worker"), Curve("web server"), Curve("page")]
    with parts.running(place) as house, chromium.running() as browser:
        web, worker = house.web(), house.worker(slots=TEAM_TASKS)
        page = chromium.open_page(browser, house.port, "/", crew.session())
        session = page.context.new_cdp_session(page)
        end, rounds, ended = time.monotonic() + 60 * minutes, 0, None
        while time.monotonic() < end:
            team, rounds = _start(rounds), rounds + 1
            desk.until(partial(_is_done, team), seconds=120, pause_s=0.5, words="the end of a team")
            _put_aside(ended)
            ended = team
            page.wait_for_timeout(200)
            session.send("HeapProfiler.collectGarbage")
            usage = session.send("Runtime.getHeapUsage")
            found = [house.memory(worker), house.memory(web), sum(usage.get(part, 0) for part in HEAP)]
            for curve, value in zip(curves, found, strict=True):
                curve.samples.append(value / 2**20)
    judge(report, curves, short=options.quick)
    report.notes.append(f"{rounds} teams of {TEAM_TASKS} runs in {minutes:g} min")
    report.notes.append(
        "MiB over time: " + json.dumps({c.name: [round(s) for s in c.samples[:: max(1, len(c.samples) // 12)]] for c in curves})
    )
    return report


def judge(report: Report, curves: list[Curve], *, short: bool) -> None:
    """Say how each curve ended against its beginning; one that is not flat, or too short to tell, is a failure.

    `short`: it was meant to be too short to tell.
    """
    least, most = FLAT
    for curve in curves:
        growth = curve.growth()
        report.add(f"memory of the {curve.name}", "MiB", curve.samples)
        report.add("  median of the last fifth ÷ the second", "×", [growth], Goal("max", most), Goal("min", least, least=True))
        if len(curve.samples) < ENOUGH:
            told = report.notes if short else report.failures
            told.append(f"memory of the {curve.name}: {len(curve.samples)} samples are too few to tell whether it is flat")
        elif not least <= growth <= most:
            report.failures.append(f"memory of the {curve.name} is not flat: its end is {growth:.2f} times its beginning")


def _start(number: int) -> Team:
    rows = [{"title": f"Round {number}, task {n}", "criteria": ["done"]} for n in range(TEAM_TASKS)]
    return crew.start(crew.plan(f"Soak {number}", agents=TEAM_TASKS, tasks=rows, parallel=TEAM_TASKS), script=SCRIPT)


def _put_aside(team: Team | None) -> None:
    """Archive the team before the last one: a page that lists ever more would grow by what it says, not by a leak."""
    if team is not None:
        teams.archive(team.pk, actor=events.SYSTEM)


def _is_done(team: Team) -> bool:
    return crew.left(team) == 0
