"""Overhead: the same script by a plain SDK program and by Crewdesk, as many at once, on the same machine in the same minute."""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml
from django.db import connections

from bench import crew, desk, parts
from bench.parts import Parts
from bench.place import ROOT, Place
from bench.report import Goal, Report
from tasks_app.domain.statuses import RunStatus
from tasks_app.models import Run, Team

PEER = "plain SDK script"
FLOOR = "the same with hooks and a session store"
THINKS_S = 0.3
"""A model that answers at once hides nothing; one that thinks so long is still several times as quick as a real one."""


@dataclass(frozen=True)
class Played:
    """What one round took: seconds of each run, processor seconds and megabytes in all."""

    walls: list[float]
    cpu_s: float
    own_cpu_s: float
    memory_mb: float


def run(place: Place, options: argparse.Namespace) -> Report:
    """Turn about, plain and ours, so that the load of the machine falls on both."""
    report = Report("overhead")
    rounds, count, turns = (1, 2, 5) if options.quick else (5, 4, 30)
    script, thoughtful = _script(turns), _script(turns, THINKS_S)
    plain: list[Played] = []
    watched: list[Played] = []
    ours: list[Played] = []
    with parts.running(place) as house:
        worker = house.worker(slots=count)
        _ours(house, worker.pid, "Warm", script, count)
        for number in range(rounds):
            plain.append(_plain(place, script, count))
            watched.append(_plain(place, script, count, "watched"))
            ours.append(_ours(house, worker.pid, f"Round {number}", script, count))
        thinking = [
            (_plain(place, thoughtful, count), _ours(house, worker.pid, f"Thinking {number}", thoughtful, count))
            for number in range(1 if options.quick else 3)
        ]
    _compare(report, plain, watched, ours, count)
    _think(report, thinking)
    report.notes.append(f"{count} runs at once, {turns} shell calls each, {rounds} rounds turn about")
    report.notes.append(
        "memory: growth of the process that drives the runs while they run, per run, without the Claude processes"
    )
    return report


def _script(turns: int, wait_s: float = 0.0) -> str:
    """`wait_s`: how long the model takes for each answer."""
    given = [{"command": f"echo {n} >> {{task}}.log", "description": "Work"} for n in range(turns)]
    work = [{"wait": wait_s, "say": f"Step {n}.", "call": {"tool": "Bash", "input": one}} for n, one in enumerate(given)]
    return yaml.safe_dump({"parts": [{"turns": [*work, {"say": "I report.", "call": {"complete": "done"}}, {"say": "Done."}]}]})


def _plain(place: Place, script: str, count: int, *more: str) -> Played:
    with tempfile.TemporaryDirectory(prefix="crewdesk-peer-") as folder:
        path = Path(folder, "script.yaml")
        path.write_text(script)
        work = Path(folder, "work")
        work.mkdir()
        command = [sys.executable, "-m", "bench.plain_sdk", str(path), str(work), str(count), *more]
        done = subprocess.run(command, cwd=ROOT, env=place.env, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError(f"the plain script failed: {done.stderr[-1500:]}")
        said: dict[str, Any] = json.loads(done.stdout)
    grown = (said["memory_peak"] - said["memory_before"]) / 1e6
    return Played(said["walls"], said["own_cpu"] + said["children_cpu"], said["own_cpu"], grown)


def _ours(house: Parts, pid: int, name: str, script: str, count: int) -> Played:
    worker = psutil.Process(pid)
    before, memory = worker.cpu_times(), worker.memory_info().rss
    rows = [{"title": f"{name} {n}", "criteria": ["done"]} for n in range(count)]
    team = crew.start(crew.plan(name, agents=count, tasks=rows, parallel=count), script=script)
    peak = 0

    def done() -> bool:
        nonlocal peak
        peak = max(peak, worker.memory_info().rss)
        return crew.left(team) == 0 and _under_way(team) == 0

    desk.until(done, seconds=240, pause_s=0.1, words="the end of our round")
    after = worker.cpu_times()
    own = after.user + after.system - before.user - before.system
    children = after.children_user + after.children_system - before.children_user - before.children_system
    runs = Run.objects.filter(team=team)
    walls = [(run.ended_at - run.started_at).total_seconds() for run in runs if run.ended_at and run.started_at]
    if len(walls) != count or runs.exclude(status=RunStatus.COMPLETED.value).exists():
        raise RuntimeError(f"{name}: {len(walls)} runs for {count} tasks, or not each was completed")
    return Played(walls, own + children, own, (peak - memory) / 1e6)


def _under_way(team: Team) -> int:
    """A task is completed some time before its run is at its end, which costs time and processor, too."""
    try:
        return Run.objects.filter(team=team, ended_at=None).count()
    finally:
        connections.close_all()


def _compare(report: Report, plain: list[Played], watched: list[Played], ours: list[Played], count: int) -> None:
    _floor(report, plain, watched)
    _beyond(report, watched, ours)
    report.add("wall time of a run", "s", [wall for each in plain for wall in each.walls], peer=PEER)
    report.add("wall time of a run", "s", [wall for each in ours for wall in each.walls])
    report.add("  ours ÷ plain, per round", "×", _walls(ours, plain), Goal("p50", 1.10))
    report.add("processor time per run, Claude included", "s", [each.cpu_s / count for each in plain], peer=PEER)
    report.add("processor time per run, Claude included", "s", [each.cpu_s / count for each in ours])
    report.add("  ours ÷ plain, per round", "×", _cpus(ours, plain), Goal("p50", 1.15))
    report.add("processor time per run, our process alone", "s", [each.own_cpu_s / count for each in ours])
    report.add("memory per run beyond Claude", "MB", [each.memory_mb / count for each in plain], peer=PEER)
    report.add("memory per run beyond Claude", "MB", [each.memory_mb / count for each in ours], Goal("p50", 3))


def _think(report: Report, pairs: list[tuple[Played, Played]]) -> None:
    words = f"wall time of a run whose model takes {THINKS_S:g} s for an answer"
    plain, ours = zip(*pairs, strict=True)
    report.add(words, "s", [wall for each in plain for wall in each.walls], peer=PEER)
    report.add(words, "s", [wall for each in ours for wall in each.walls])
    report.add("  ours ÷ plain, per round", "×", _walls(ours, plain), Goal("p50", 1.10))


def _floor(report: Report, plain: list[Played], watched: list[Played]) -> None:
    """What the SDK itself takes for what a supervised run cannot be without."""
    report.add("wall time ÷ plain, per round", "×", _walls(watched, plain), peer=FLOOR)
    report.add("processor time ÷ plain, per round", "×", _cpus(watched, plain), peer=FLOOR)


def _beyond(report: Report, watched: list[Played], ours: list[Played]) -> None:
    """What is ours to save: the rest is the SDK's for hooks and a session store."""
    report.add("wall time, ours ÷ that", "×", _walls(ours, watched))
    report.add("processor time, ours ÷ that", "×", _cpus(ours, watched))


def _walls(over: Sequence[Played], under: Sequence[Played]) -> list[float]:
    """The wall time of a run against another's, round by round."""
    return [_mean(one.walls) / _mean(other.walls) for one, other in zip(over, under, strict=True)]


def _cpus(over: Sequence[Played], under: Sequence[Played]) -> list[float]:
    """The same of the processor time."""
    return [one.cpu_s / other.cpu_s for one, other in zip(over, under, strict=True)]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
