"""Schedule: a plan of 500 tasks and 50 agents; how long a ready task and a free agent wait for each other."""

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from unittest import mock

from django.utils import timezone

from bench import crew, desk, instant_worker, json_store, parts, waits
from bench.place import Place
from bench.report import Goal, Report
from tasks_app import wake
from tasks_app.models import Agent, Dependency, Event, Run, Task, Team
from tasks_app.services import scheduling

assert instant_worker.app  # plans may name the type here too
WORKERS = 2
NO_RUN = "b00000000"


def run(place: Place, options: argparse.Namespace) -> Report:
    """Play the plan with runs that only wait, on two workers."""
    report = Report("schedule")
    tasks = options.tasks or (60 if options.quick else 500)
    agents, seconds = (10, (0.5, 1.5)) if options.quick else (50, (2.0, 6.0))
    with parts.running(place) as house:
        for number in range(1, WORKERS + 1):
            house.worker(number, slots=-(-agents // WORKERS), app="bench.instant_worker")
        wake.nudge(NO_RUN)  # who starts a team in a browser finds a web server that has sent one before
        begun = time.monotonic()
        team, there = _start(_plan(tasks, agents, seconds, random.Random(options.seed)))
        report.add("start a team of that size", "s", [time.monotonic() - begun])
        try:
            desk.until(lambda: crew.left(team) == 0, seconds=60 + tasks, pause_s=0.5, words="the end of the plan")
        except desk.TooLate as late:
            report.failures.append(f"{late}: {crew.left(team)} tasks are left")
        took = time.monotonic() - begun
        _figures(report, team, there, took)
        _peer(report, tasks, agents)
        report.notes.append(
            f"{tasks} tasks in chains and fans, {agents} agents, runs of {seconds[0]:g} to {seconds[1]:g} s, {WORKERS} workers"
        )
    return report


def _plan(tasks: int, agents: int, seconds: tuple[float, float], chance: random.Random) -> str:
    rows: list[dict[str, Any]] = []
    for number in range(1, tasks + 1):
        row = {
            "key": f"t{number}",
            "title": f"Task {number}",
            "description": f"[wait {chance.uniform(*seconds):.2f}]",
            "criteria": ["done"],
            "role": "worker",
            "type": "instant",
        }
        before = list(range(max(1, number - 60), max(1, number - 40)))
        if before and chance.random() < 0.5:
            row["depends_on"] = [f"t{need}" for need in sorted(set(chance.choices(before, k=2)))]
        rows.append(row)
    return crew.plan("Schedule", agents=agents, tasks=rows, parallel=agents)


def _start(text: str) -> tuple[Team, datetime]:
    """Start the team; returns it, and when its commit was done: the first thing that follows is the hint that it is there."""
    committed: list[datetime] = []
    hint = wake.browsers

    def noting(team_id: int, seq: int, keys: Iterable[str]) -> None:
        committed.append(timezone.now())
        hint(team_id, seq, keys)

    with mock.patch.object(wake, "browsers", noting):
        team = crew.start(text)
    return team, committed[0]


def _figures(report: Report, team: Team, there: datetime, took: float) -> None:
    found = _waits(team, there)
    report.add(
        "lost per start, since a task was ready and an agent free",
        "ms",
        [_ms(w.since, w.started) for w in found],
        Goal("p99", 200),
    )
    report.add("  of it until the scheduler gave it out", "ms", [_ms(w.since, w.given) for w in found])
    report.add("  of it until a worker had it", "ms", [_ms(max(w.since, w.given), w.started) for w in found])
    report.add("  and until its first step is stored", "ms", [_ms(w.started, w.spoke) for w in found if w.spoke])
    report.add("the whole plan", "s", [took])
    report.add("a tick with nothing to do", "ms", [_tick(team) for _ in range(20)])
    tasks = Task.objects.filter(team=team).count()
    if len(found) != tasks:
        report.failures.append(f"{len(found)} runs were started for {tasks} tasks")
    if again := Run.objects.filter(team=team, fence__gt=1).count():
        report.failures.append(f"{again} runs were started more than once")


def _waits(team: Team, there: datetime) -> list[waits.Wait]:
    needs: dict[int, list[int]] = defaultdict(list)
    for number, need in Dependency.objects.filter(task__team=team).values_list("task__number", "needs__number"):
        needs[number].append(need)
    rows = Event.objects.filter(team=team).order_by("seq").values_list("kind", "at", "task_number", "run_id", "agent_id")
    log = (waits.Line(kind, at, number or 0, run, agent) for kind, at, number, run, agent in rows)
    return waits.of(log, needs=needs, agents=Agent.objects.filter(team=team).values_list("pk", flat=True), there=there)


def _ms(since: datetime, until: datetime) -> float:
    return max(0.0, (until - since).total_seconds() * 1000)


def _tick(team: Team) -> float:
    begun = time.perf_counter()
    scheduling.tick(team.pk)
    return (time.perf_counter() - begun) * 1000


def _peer(report: Report, tasks: int, agents: int) -> None:
    """The same hand-out by the file-lock JSON store that many tools keep: what one claim costs there."""
    peer = "JSON file with a lock"
    took = json_store.claim_all(tasks=tasks, workers=min(agents, 8))
    report.add("one claim and completion", "ms", took, peer=peer)
