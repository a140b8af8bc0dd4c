"""The billing example under kill -9 at random moments: whatever dies, everything is done exactly once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.management.desks import ROOT, RunningDesk, free_port, wait_for
from tests.scenarios.killer import KINDS, Killer, of_home

pytestmark = [pytest.mark.engine, pytest.mark.chaos]
SEEDS = range(int(os.environ.get("CREWDESK_TEST_SEEDS", "3")))
PLAN, LEAD = "examples/billing/plan.yaml", "examples/billing/lead.yaml"
ASKED = {
    "Database schema for invoices / permission": 1,
    "Billing page / plan": 2,
    "Documentation / question": 1,
    "Payment API / escalation": 2,
}
"""What an undisturbed run asks the lead; a disturbed one may ask nothing more."""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[RunningDesk]:
    running = RunningDesk(tmp_path / "home", free_port(), "--rehearse", "--workers", "2", env={"CREWDESK_WORKER_SLOTS": "3"})
    try:
        yield running.wait_ready()
    finally:
        running.end()


def run(home: Path, *arguments: str, seconds: float = 170) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "CREWDESK_HOME": str(home), "DATABASE_URL": ""}
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=seconds)


def leftovers(home: Path) -> list[str]:
    """Every process that carries a run's marker of this home."""
    found = []
    for process in psutil.process_iter(["pid"]):
        try:
            env = process.environ()
        except psutil.Error:
            continue
        if "CREWDESK_RUN" in env and str(home) in env.get("HOME", ""):
            found.append(" ".join(process.cmdline())[:120])
    return found


def told(desk: RunningDesk, what: str, done: subprocess.CompletedProcess[str]) -> str:
    """Return, in few lines, how each task ended, what happened last and what the parts said: all that is left of a failure."""
    result = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    tasks = [f"{task['id']} {task['status']} {task['reason']}" for task in result.get("tasks", ())]
    last = run(desk.home, "manage.py", "tail", "Billing feature", "--steps", "-n", "60").stdout
    parts = desk.text()[-1500:]
    return "\n".join((what, *tasks, f"exit {done.returncode}", done.stderr[-1000:], last, parts))


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_is_killed_every_task_is_completed_exactly_once(desk: RunningDesk, seed: int) -> None:
    killer = Killer(desk.home, seed)
    killer.start()
    try:
        done = run(
            desk.home, "manage.py", "team", "start", PLAN, "--rehearse", "--lead", LEAD, "--wait", "--json", "--timeout", "150"
        )
    finally:
        killer.stop()
    story = told(desk, f"seed {seed} killed {killer.killed}", done)
    assert killer.killed, "nothing was killed, so nothing is proved"
    assert done.returncode == 0, story
    audited = run(desk.home, "-m", "bench.auditor", "--json", "--done", "--whole")
    report = json.loads(audited.stdout)
    assert report["violations"] == [], story
    assert report["asked"] == ASKED, story
    wait_for(lambda: not leftovers(desk.home), seconds=10)
    desk.end()
    assert [kind for kind in KINDS if of_home(desk.home, kind)] == []
