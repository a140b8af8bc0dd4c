"""The Celery app of a worker whose agents are the plays of bench/flood_cli.py; `-A bench.flood_worker`."""

import os
import shlex
import sys
from pathlib import Path

from dashboard.celery import app
from tasks_app.runners.claude.session import ClaudeRunner
from tasks_app.runners.port import Outcome, Port, RunSpec
from tasks_app.runners.registry import RUNNERS

__all__ = ["FloodRunner", "app"]


class FloodRunner:
    """The runner for Claude with another binary."""

    def __init__(self) -> None:
        home = Path(os.environ["CREWDESK_HOME"])
        binary = home / "flood-claude"
        words = [sys.executable, "-S", str(Path(__file__).with_name("flood_cli.py")), str(home)]
        binary.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        binary.chmod(0o755)
        self._runner = ClaudeRunner(cli=str(binary))

    async def run(self, spec: RunSpec, port: Port) -> Outcome:
        """Drive the run."""
        return await self._runner.run(spec, port)


RUNNERS["claude"] = "bench.flood_worker.FloodRunner"
