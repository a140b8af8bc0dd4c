"""Recover: kill -9 of a worker, then how long until each of its runs has its next step; on the same host, and on another."""

import argparse
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import yaml
from django.db import connections

from bench import crew, desk, parts, recovered, stamps
from bench.desk import Desk
from bench.parts import Parts
from bench.place import Place
from bench.report import Goal, Report
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import RunStatus, TaskStatus
from tasks_app.management.supervise import STEADY_S
from tasks_app.models import Run, Task, Team

TURNS = 400
PUBLISHED = (
    "published elsewhere (a durable agent runtime, kill -9): recovery 12 s with persistence, 146 s without; duplicates 0 and 3; "
    "peak memory 207 and 284 MB"
)


@dataclass
class Measured:
    """What several kills have shown: seconds until the next step, effects that came twice, the worker's peak in MB.

    `killed`: the runs that were held by what was killed, each of which has to have a sample.
    `stages`: what the worker that went on noted (`bench.stamps`), in seconds from the kill.
    """

    seconds: list[float] = field(default_factory=list)
    killed: int = 0
    taken_back: list[float] = field(default_factory=list)
    started: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=dict)
    twice: dict[str, int] = field(default_factory=dict)
    peak_mb: float = 0.0


@dataclass(frozen=True)
class Case:
    """How the worker dies, and who is there to take over. `name` is what `--cases` knows it by."""

    name: str
    title: str
    limit_s: float
    sibling: bool = False  # another worker of the same host is alive; else the dead one is started again at once, as `up` does
    other_host: bool = False  # another worker is alive under another host name
    lose_valkey: bool = False  # Valkey dies in the same moment and loses its data

    def of(self, runs: int) -> "Case":
        """The case of a worker that has so many runs: as many Claude Code processes start at the same moment."""
        return replace(self, title=f"{self.title}, {runs} {'run' if runs == 1 else 'runs'}")


SPARE_BYTES = 50_000_000
"""A spare that has loaded is larger than this."""
UNDER_UP = Case("up", "same host, started again by `up`", 3)
CASES = (
    Case("nothing", "same host, started again from nothing", 3),
    Case("valkey", "same host, started again from nothing, Valkey lost too", 3, lose_valkey=True),
    Case("sibling", "same host, another worker lives", 3, sibling=True),
    Case("host", "other host", 20, other_host=True),
)
STAGES = {
    stamps.LOADED: "a worker had begun",
    stamps.GONE: "what the dead one had left was gone",
    stamps.SPEC: "the prompt was made",
    stamps.READY: "the transcript was on the disk",
    stamps.SPAWNED: "Claude Code was started",
    stamps.ANSWERED: "Claude Code had answered",
    stamps.SAID: "it was told to go on",
    stamps.ASKED: "it asked the model",
}
TWICE = {
    "told": "begun when the worker died, result unknown; the next prompt said so",
    "untold": "the next prompt did not say that it was begun",
    "result stored": "though its result was stored",
}
STAMPED = {"DJANGO_SETTINGS_MODULE": "bench.stamped_settings"}


def run(place: Place, options: argparse.Namespace) -> Report:
    """Measure every case, or those that are named."""
    report = Report("recover")
    kills, many = options.kills or (1 if options.quick else 6), 2 if options.quick else 4
    wanted = [name for name in options.cases.split(",") if name] or [UNDER_UP.name, *(case.name for case in CASES)]
    place.env |= STAMPED
    if UNDER_UP.name in wanted:
        with desk.running(place) as under_up:
            for agents in (1, many):
                _say(report, UNDER_UP.of(agents), _measure_under_up(under_up, kills=kills, agents=agents))
    cases = [(case, count) for case in CASES if case.name in wanted for count in ((1, many) if case.sibling else (many,))]
    if cases:
        with parts.running(place) as house:
            for plain, agents in cases:
                if plain.other_host and os.geteuid() != 0:
                    report.notes.append("other host: left out, a host name of its own needs root")
                    continue
                _say(report, plain.of(agents), _measure(house, plain.of(agents), kills=kills, agents=agents))
    report.notes.append("next step: the first thing that the agent itself says or does; the scripted model takes 0.3 s for it")
    report.notes.append(PUBLISHED)
    return report


def _say(report: Report, case: Case, found: Measured) -> None:
    report.add(f"{case.title}: recovery", "s", found.seconds, Goal("p50", case.limit_s), Goal("max", case.limit_s))
    if missing := found.killed - len(found.seconds):
        report.failures.append(
            f"{case.title}: missing: {missing} of {found.killed}, their agents did nothing more in the life they have"
        )
    report.add("  of it until its lease was taken back", "s", found.taken_back)
    report.add("  of it until a worker had claimed it", "s", found.started)
    for stage, words in STAGES.items():
        report.add(f"  of it until {words}", "s", found.stages.get(stage, []))
    report.add("  effects that came twice", "effects", [sum(found.twice.values())], Goal("max", 0))
    for known, count in found.twice.items():
        report.add(f"    {TWICE[known]}", "effects", [count])
        if count and known != "told":
            report.failures.append(f"{case.title}: {count} effects came twice, {TWICE[known]}")
    report.add("  peak memory of the worker", "MB", [found.peak_mb])


def _measure_under_up(under_up: Desk, *, kills: int, agents: int) -> Measured:
    """The worker of an `up`, killed when it has been well for a while and a spare has loaded, as it is on most days."""
    found, team, home = Measured(), _start(UNDER_UP.of(agents).title, agents), under_up.place.home
    for _ in range(kills):
        desk.until(lambda: _working(team) == agents, seconds=90, words="runs with a few steps")
        time.sleep(STEADY_S)
        (worker,) = desk.of_home(home, "worker")
        desk.until(partial(_spare_has_loaded, home), seconds=30, words="a spare")
        before, at = _fences(team), time.time()
        found.peak_mb = max(found.peak_mb, _peak_mb(worker.pid))
        worker.kill()
        desk.until(partial(_went_on, before), seconds=90, words="the next step of every run")
        _note(found, team, at, home)
    _finish(found, team)
    return found


def _spare_has_loaded(home: Path) -> bool:
    """Whether it waits for its order: what loads is busy, what waits sleeps."""
    loaded = [each for each in desk.spares_of_home(home) if each.memory_info().rss > SPARE_BYTES]
    return bool(loaded) and all(each.cpu_percent(0.3) == 0.0 for each in loaded)


def _measure(house: Parts, case: Case, *, kills: int, agents: int) -> Measured:
    found, team = Measured(), _start(case.title, agents)
    worker, spare = house.worker(1, slots=agents, host="desk-0" if case.other_host else "", env=STAMPED), None
    for kill in range(1, kills + 1):
        desk.until(lambda: _working(team) == agents, seconds=90, words="runs with a few steps")
        if case.sibling or case.other_host:
            spare = house.worker(kill + 1, slots=agents, host=f"desk-{kill}" if case.other_host else "", env=STAMPED)
        time.sleep(1.0)
        before, at = _fences(team), time.time()
        found.peak_mb = max(found.peak_mb, _peak_mb(worker.pid))
        house.kill(worker)
        if case.lose_valkey:
            _lose(house)
        worker = spare or house.worker(kill + 1, slots=agents, env=STAMPED)
        desk.until(partial(_went_on, before), seconds=90, words="the next step of every run")
        _note(found, team, at, house.place.home)
        found.peak_mb = max(found.peak_mb, _peak_mb(worker.pid))
    house.kill(worker)
    _finish(found, team)
    return found


def _note(found: Measured, team: Team, at: float, home: Path) -> None:
    found.killed += Run.objects.filter(team=team).count()
    found.seconds += recovered.own_steps(team, at)
    found.taken_back += recovered.events(team, at, EventKind.RUN_RESUMABLE)
    found.started += recovered.events(team, at, EventKind.RUN_STARTED)
    for stage, took in stamps.firsts(stamps.read(home), since=at, lives=recovered.lives(team)).items():
        found.stages.setdefault(stage, []).extend(took)
    connections.close_all()


def _finish(found: Measured, team: Team) -> None:
    found.twice = recovered.twice(team)
    Task.objects.filter(team=team).update(status=TaskStatus.CANCELLED.value)
    Run.objects.filter(team=team).update(status=RunStatus.KILLED.value)


def _start(title: str, agents: int) -> Team:
    turns = [
        {
            "say": f"Step {n}.",
            "wait": 0.3,
            "call": {"tool": "Bash", "input": {"command": recovered.COMMAND.format(n=n, task="{task}"), "description": "Work"}},
        }
        for n in range(TURNS)
    ]
    rows = [{"title": f"{title} {n}", "criteria": ["done"]} for n in range(agents)]
    return crew.start(
        crew.plan(title, agents=agents, tasks=rows, parallel=agents), script=yaml.safe_dump({"parts": [{"turns": turns}]})
    )


def _fresh(read: Callable[[], int]) -> int:
    try:
        return read()
    finally:
        connections.close_all()


def _working(team: Team) -> int:
    return _fresh(lambda: Run.objects.filter(team=team, status=RunStatus.RUNNING.value, last_seq__gte=4).count())


def _fences(team: Team) -> dict[str, int]:
    return dict(Run.objects.filter(team=team).values_list("pk", "fence"))


def _went_on(before: dict[str, int]) -> bool:
    try:
        return recovered.went_on(before)
    finally:
        connections.close_all()


def _lose(house: Parts) -> None:
    server = house.valkey
    assert server is not None
    if server.process is not None:
        server.process.kill()
        server.process.wait(desk.KILLED_S)
    shutil.rmtree(server.data, ignore_errors=True)
    server.ensure()


def _peak_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines() if Path("/proc").is_dir() else []:
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1000
    return 0.0
