"""Soak: memory of the worker, the web server and an open page while small teams come and go for a long time."""

import argparse
import json
import os
import time
from dataclasses import dataclass, field
from functools import partial

import psutil
import yaml
from django.db import connections

from bench import crew, desk, live, parts
from bench.place import Place
from bench.report import Goal, Report
from tasks_app.domain.statuses import TaskStatus
from tasks_app.models import Task, Team

MINUTES = 60.0
QUICK_MINUTES = 1.0
TEAM_TASKS = 3
FLAT = 1.10
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
        """Return the last third ÷ the second: the first is warm-up."""
        third = max(1, len(self.samples) // 3)
        middle, last = self.samples[third : 2 * third] or self.samples, self.samples[-third:]
        return (sum(last) / len(last)) / (sum(middle) / len(middle))


def run(place: Place, options: argparse.Namespace) -> Report:
    """Play team after team; the page stays on the Overview all the time."""
    report = Report("soak")
    minutes = options.minutes or (QUICK_MINUTES if options.quick else MINUTES)
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # the browser keeps an event loop in this thread
    curves = [Curve("worker"), Curve("web server"), Curve("page (JavaScript heap)")]
    with parts.running(place) as house, live.chromium() as chromium:
        web, worker = house.web(), house.worker(slots=TEAM_TASKS)
        page = live.open_page(chromium, house.port, "/", crew.session())
        session = page.context.new_cdp_session(page)
        end, rounds = time.monotonic() + 60 * minutes, 0
        while time.monotonic() < end:
            team, rounds = _start(rounds), rounds + 1
            desk.until(partial(_done, team), seconds=120, pause_s=0.5, words="the end of a team")
            page.wait_for_timeout(200)
            session.send("HeapProfiler.collectGarbage")
            heap = session.send("Runtime.getHeapUsage")["usedSize"]
            found = [psutil.Process(worker.pid).memory_info().rss, psutil.Process(web.pid).memory_info().rss, heap]
            for curve, value in zip(curves, found, strict=True):
                curve.samples.append(value / 2**20)
    for curve in curves:
        report.add(f"memory of the {curve.name}", "MiB", curve.samples)
        report.add("  last third ÷ second third", "×", [curve.growth()], Goal("max", FLAT))
    report.notes.append(f"{rounds} teams of {TEAM_TASKS} runs in {minutes:g} min")
    report.notes.append(
        "MiB over time: " + json.dumps({c.name: [round(s) for s in c.samples[:: max(1, len(c.samples) // 12)]] for c in curves})
    )
    return report


def _start(number: int) -> Team:
    rows = [{"title": f"Round {number}, task {n}", "criteria": ["done"]} for n in range(TEAM_TASKS)]
    return crew.start(crew.plan(f"Soak {number}", agents=TEAM_TASKS, tasks=rows, parallel=TEAM_TASKS), script=SCRIPT)


def _done(team: Team) -> bool:
    try:
        return not Task.objects.filter(team=team).exclude(status=TaskStatus.COMPLETED.value).exists()
    finally:
        connections.close_all()
