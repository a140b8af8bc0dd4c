"""Parked: what a decision costs while nobody answers it. No process, no lease, no memory of the worker."""

import argparse
import time
from pathlib import Path

import psutil
import yaml
from django.db import connections

from bench import crew, desk, parts
from bench.place import Place
from bench.report import Goal, Report
from tasks_app.domain.statuses import DecisionStatus, RunStatus
from tasks_app.models import Decision, Run, Team
from tasks_app.runners.claude import processes

SCRIPT = {
    "parts": [
        {"turns": [{"say": "May I?", "call": {"tool": "Bash", "input": {"command": "mkdir {task}", "description": "Make"}}}]}
    ]
}
QUIET_S = 5.0
WARM = 140
"""Each of the worker's connections keeps up to 128 prepared statements, some 10 kB each: with fewer requests they still fill."""


def run(place: Place, options: argparse.Namespace) -> Report:
    """Park some requests as a warm-up, then many more, and look at what the many have left behind."""
    report = Report("parked")
    warm, many = (3, 6) if options.quick else (WARM, 100)
    with parts.running(place) as house:
        worker = house.worker(slots=6)
        own, resident = list[int](), list[int]()
        for name, count in (("Warm", warm), ("Many", many)):
            _park(name, count)
            own.append(_own(worker.pid))
            resident.append(house.memory(worker))
        alive = [one for one in processes.marked() if Run.objects.filter(pk=one.run_id).exists()]
        held = Run.objects.filter(status=RunStatus.RUNNING.value).count()
        report.add("processes of parked requests", "processes", [len(alive)], Goal("max", 0))
        report.add("leases held", "leases", [held], Goal("max", 0))
        report.add(f"the worker's own memory after {warm} parked requests", "MiB", [own[0] / 2**20])
        report.add(f"the worker's own memory after {many} more", "MiB", [own[1] / 2**20])
        grown = [(after - before) / many / 1000 for before, after in (own, resident)]
        report.add("growth per parked request (an allocator's noise is ± 20 kB)", "kB", grown[:1], Goal("max", 20))
        report.add("  the same with what it maps of the database's file", "kB", grown[1:])
        report.add(
            "processes of the worker itself",
            "processes",
            [len(psutil.Process(worker.pid).children(recursive=True))],
            Goal("max", 0),
        )
    return report


def _own(pid: int) -> int:
    """Return the bytes that belong to the process alone: on Linux without what it maps of files, the database's among them."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return int(psutil.Process(pid).memory_full_info().uss)
    anonymous = next(line for line in status.read_text().splitlines() if line.startswith("RssAnon:"))
    return int(anonymous.split()[1]) * 1024


def _park(name: str, count: int) -> None:
    rows = [{"title": f"{name} {n}", "criteria": ["done"]} for n in range(count)]
    text = crew.plan(name, agents=count, tasks=rows, parallel=6, grace_s=0)
    team = crew.start(text, script=yaml.safe_dump(SCRIPT))
    desk.until(lambda: _parked(team) == count, seconds=60 + 5 * count, pause_s=0.5, words=f"{count} parked requests")
    time.sleep(QUIET_S)


def _parked(team: Team) -> int:
    try:
        return Decision.objects.filter(
            team=team, status=DecisionStatus.OPEN.value, parked=True, run__status=RunStatus.PENDING.value
        ).count()
    finally:
        connections.close_all()
