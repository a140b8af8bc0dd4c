"""One benchmark for many seeds: each in a process and place of its own, one after another; what failed is named with its seed."""

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from typing import Any

from bench.place import ROOT
from bench.registry import BENCHES
from bench.report import Report


def play(given: argparse.Namespace) -> Report:
    """Run seeds `given.seed` … `given.seed + given.seeds - 1` and return what they have in common: each figure over all seeds."""
    begun = time.monotonic()
    report = Report(f"{given.name}, seeds {given.seed} to {given.seed + given.seeds - 1}")
    samples: dict[tuple[str, str], list[float]] = defaultdict(list)
    passed = 0
    for seed in range(given.seed, given.seed + given.seeds):
        found, problem = _one(given, seed)
        passed += not problem and not found.get("failures")
        report.failures += [f"seed {seed}: {line}" for line in (found.get("failures") or ([problem] if problem else []))]
        for figure in found.get("figures", []):
            if figure.get("p50") is not None:
                samples[figure["name"], figure["unit"]].append(figure["p50"])
        if found.get("failures"):
            report.notes += [f"seed {seed}: {note}" for note in found["notes"] if note.startswith("acts: ")]
        print(f"seed {seed}: {'passed' if not problem and not found.get('failures') else 'FAILED'}", file=sys.stderr, flush=True)
    report.add("seeds passed", f"of {given.seeds}", [passed])
    for (name, unit), values in samples.items():
        report.add(name, unit, values)
    report.seconds = time.monotonic() - begun
    return report


def _one(given: argparse.Namespace, seed: int) -> tuple[dict[str, Any], str]:
    """Return the document of one seed, and what kept it from being printed."""
    command = [sys.executable, "-m", "bench", given.name, "--json", "--seed", str(seed), "--database", given.database]
    command += ["--tasks", str(given.tasks), "--acts", str(given.acts)]
    command += ["--quick"] if given.quick else []
    command += ["--keep", f"{given.keep}/{seed}"] if given.keep else []
    limit_s = BENCHES[given.name].limit_s + 120
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit_s, check=False)
        return dict(json.loads(done.stdout)), ""
    except subprocess.TimeoutExpired:
        return {}, f"did not end within {limit_s:.0f} s"
    except ValueError:
        return {}, f"ended with {done.returncode}: {done.stderr[-500:]}"
