"""Runs with a process that only looks like Claude Code: where the binary is a play, and what it was told."""

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tasks_app.runners.claude.limits import Limits
from tasks_app.runners.claude.session import ClaudeRunner
from tasks_app.runners.port import Outcome, Port, RunSpec

QUICK = Limits(settle_s=0.5, interrupt_s=0.5, close_s=0.5, term_s=0.3)


@dataclass
class Binary:
    """An executable that plays `play`, and its notebook."""

    folder: Path
    play: str

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.notebook = self.folder / "notebook.jsonl"
        self.path = self.folder / f"claude-{self.play}"
        words = [sys.executable, "-I", "-S", str(Path(__file__).with_name("fake_cli.py")), self.play, str(self.notebook)]
        self.path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        self.path.chmod(0o755)

    def told(self, what: str) -> list[Any]:
        """What it has noted of a kind, in order."""
        lines = self.notebook.read_text("utf-8").splitlines() if self.notebook.exists() else []
        return [value for kind, value in map(json.loads, lines) if kind == what]

    def alive(self) -> list[int]:
        """The processes of this binary that have not ended."""
        return [pid for pid in self.told("pid") if self._plays(pid)]

    def _plays(self, pid: int) -> bool:
        try:
            return str(self.notebook) in psutil.Process(pid).cmdline()
        except psutil.Error:
            return False


@dataclass
class Faked:
    """A runner whose processes are a play."""

    binary: Binary
    limits: Limits = QUICK

    async def run(self, spec: RunSpec, port: Port) -> Outcome:
        """Drive the run."""
        return await ClaudeRunner(limits=self.limits, cli=str(self.binary.path)).run(spec, port)


class Memory:
    """By how much this process grew at most, as the kernel saw it (Linux; elsewhere nobody can ask anew, and the test skips)."""

    def __init__(self) -> None:
        if not sys.platform.startswith("linux"):
            pytest.skip("only Linux tells the highest use of memory since a moment")
        Path("/proc/self/clear_refs").write_text("5")  # sets the high-water mark back to what is used now
        self.before = self._high()

    def grown(self) -> int:
        """Return the growth in bytes since this was made."""
        return self._high() - self.before

    @staticmethod
    def _high() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
