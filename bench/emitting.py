"""How a benchmark talks to the process of `bench.emitter`."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bench.place import ROOT, Place


@dataclass
class Emitter:
    """The process and the address of its team."""

    process: "subprocess.Popen[str]"
    team: str
    period_s: float
    rate: float
    """Steps per second that are ordered of all agents together."""

    def begin(self, seconds: float) -> None:
        """Let it emit for so long."""
        assert self.process.stdin
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()

    def ended(self) -> dict[str, int]:
        """Wait until it has stored everything; returns the last number of each agent."""
        return dict(_line(self.process)["last"])


@contextmanager
def running(place: Place, *, agents: int, rate: float) -> Iterator[Emitter]:
    """Yield a started emitter of so many agents and steps per second in all."""
    command = [sys.executable, "-m", "bench.emitter", str(agents), str(rate)]
    with subprocess.Popen(command, cwd=ROOT, env=place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Emitter(process, str(_line(process)["team"]), agents / rate, rate)
        finally:
            process.kill()


def _line(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdout
    while line := process.stdout.readline():
        if line.startswith("{"):
            return dict(json.loads(line))
    raise RuntimeError(f"the emitter ended with {process.wait()}")
