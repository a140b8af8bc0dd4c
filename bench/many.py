"""One benchmark for many seeds: each in a process and place of its own, one after another; what failed is named with its seed."""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from bench.place import ROOT
from bench.registry import BENCHES, UNWIND_S
from bench.report import Goal, Report

CANNOT = 2
"""The exit code of a benchmark that cannot run here."""
OURS = {"name", "json", "seed", "seeds", "keep"}
"""What is not handed on as it was given: a part prints one document for us, of one seed, and keeps what it keeps apart."""


class CannotRun(Exception):
    """A seed said that this benchmark cannot run here, in these words."""


class Key(NamedTuple):
    """Which figure it is, in every part the same: a figure may have the name of another's detail, or of a peer's."""

    part_of: str
    name: str
    unit: str
    peer: str
    nth: int


def play(given: argparse.Namespace) -> Report:
    """Run seeds `given.seed` … `given.seed + given.seeds - 1` and return what they have in common: each figure over all seeds.

    Raises `CannotRun`.
    """
    begun = time.monotonic()
    report = Report(f"{given.name}, seeds {given.seed} to {given.seed + given.seeds - 1}")
    found = []
    for seed in range(given.seed, given.seed + given.seeds):
        said, problem = _one(given, seed)
        wrong = [*said.get("failures", []), *([problem] if problem else [])]
        report.failures += [f"seed {seed}: {line}" for line in wrong]
        if wrong:
            report.notes += [f"seed {seed}: {note}" for note in said.get("notes", []) if note.startswith("acts: ")]
        print(f"seed {seed}: {'FAILED' if wrong else 'passed'}", file=sys.stderr, flush=True)
        found.append((said, not wrong))
    report.add("seeds passed", f"of {given.seeds}", [sum(passed for _, passed in found)])
    merge(report, (said.get("figures", []) for said, _ in found))
    report.seconds = time.monotonic() - begun
    return report


def merge(report: Report, parts: Iterable[list[dict[str, Any]]]) -> None:
    """Add each figure's median over all parts; for each of its goals the quantile it is about: the worst seed has to meet it."""
    medians: dict[Key, list[float]] = {}
    goals: dict[tuple[Key, str, float, bool], list[float]] = {}
    for figures in parts:
        for key, figure in _keyed(figures):
            of_this = medians.setdefault(key, [])
            of_this += [figure["p50"]] if figure.get("p50") is not None else []
            for goal in figure["goals"]:
                of_goal = goals.setdefault((key, goal["stat"], goal["limit"], goal["least"]), [])
                # without samples it is as bad as can be
                of_goal.append(figure[goal["stat"]] if figure.get(goal["stat"]) is not None else _worst(goal["least"]))
    for key, values in medians.items():
        report.add(key.name, key.unit, values, peer=key.peer)
        for (whose, stat, limit, least), found in goals.items():
            if whose == key:
                goal = Goal("min" if least else "max", limit, least)
                report.add(f"  {key.name.strip()}: {stat} of each seed", key.unit, found, goal, peer=key.peer)


def _worst(least: bool) -> float:
    return float("-inf") if least else float("inf")


def _keyed(figures: list[dict[str, Any]]) -> list[tuple[Key, dict[str, Any]]]:
    head, seen, found = "", Counter[tuple[str, ...]](), []
    for figure in figures:
        if not figure["name"].startswith(" "):
            head = figure["name"]
        which = (head, figure["name"], figure["unit"], figure.get("peer", ""))
        found.append((Key(*which, seen[which]), figure))
        seen[which] += 1
    return found


def _one(given: argparse.Namespace, seed: int) -> tuple[dict[str, Any], str]:
    """Return the document of one seed, and what kept it from being printed or from ending well."""
    limit_s = BENCHES[given.name].limit_s + 5 * UNWIND_S
    try:
        done = subprocess.run(command(given, seed), cwd=ROOT, capture_output=True, text=True, timeout=limit_s, check=False)
        if done.returncode == CANNOT:
            raise CannotRun(done.stderr.strip())
        said = dict(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return {}, f"did not end within {limit_s:.0f} s"
    except ValueError:
        return {}, f"ended with {done.returncode}: {done.stderr[-500:]}"
    silent = done.returncode and not said.get("failures")
    return said, f"ended with {done.returncode}: {done.stderr[-500:]}" if silent else ""


def command(given: argparse.Namespace, seed: int) -> list[str]:
    """Return the command of one seed: every flag as it was given to us."""
    words = [sys.executable, "-m", "bench", given.name, "--json", f"--seed={seed}"]
    for name, value in vars(given).items():
        if name in OURS or value is False:
            continue
        words.append(f"--{name}" if value is True else f"--{name}={value}")
    return words + ([f"--keep={given.keep}/{seed}"] if given.keep else [])
