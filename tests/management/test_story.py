"""The billing story from the terminal, with the real Claude Code process: to its end by a scripted lead, and by hand."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import prepared
from tests.management.desks import ROOT, RunningDesk, free_port, wait_for

pytestmark = pytest.mark.engine
BILLING = ROOT / "examples" / "billing"
PLAN = """
team: Small
rehearsal: script.yaml
agents: [{name: ada, role: builder}]
tasks: [{title: Make it, criteria: [It is made]}]
"""
LONG_SCRIPT = """
parts:
  - turns:
      - call:
          tool: Bash
          input: {command: "if [ -e begun ]; then echo again; else touch begun; sleep 347; fi", description: Take long}
      - call: {complete: Made.}
"""
SCRIPT = """
parts:
  - turns:
      - call: {tool: Bash, input: {command: touch made.txt, description: Make it}}
      - call: {complete: Made.}
"""


def manage(home: Path, *words: str, timeout: float = 180) -> tuple[int, Any]:
    """Run a command on `home`; return its exit code and its JSON."""
    env = {name: value for name, value in os.environ.items() if name not in {"REDIS_URL", "DATABASE_URL"}}
    done = subprocess.run(
        [sys.executable, "manage.py", *words, "--json"],
        cwd=ROOT,
        env={**env, "CREWDESK_HOME": str(prepared.home(home))},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert "Traceback" not in done.stderr, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()] if words[0] == "tail" else json.loads(done.stdout)
    return done.returncode, lines


def left_behind(home: Path) -> list[str]:
    """Return the command lines of living processes of this home or of its runs."""
    found = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
            if str(home) in line or process.environ().get("CREWDESK_HOME") == str(home):
                found.append(line)
        except psutil.Error:
            continue
    return found


def kinds(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


def test_the_whole_story_plays_to_its_end_and_nothing_is_left(tmp_path: Path) -> None:
    home = tmp_path / "home"
    plan, lead = str(BILLING / "plan.yaml"), str(BILLING / "lead.yaml")
    code, ended = manage(home, "team", "start", plan, "--rehearse", "--lead", lead, "--timeout", "150")
    assert (code, ended["outcome"]) == (0, "completed"), ended
    assert [task["status"] for task in ended["tasks"]] == ["completed"] * 5
    assert left_behind(home) == []
    events = manage(home, "tail", "billing-feature", "--after", "0")[1]
    _the_story_is_in(events)
    work = Path(ended["team"]["workspace"])
    suite = [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."]
    assert subprocess.run(suite, cwd=work, capture_output=True).returncode == 0
    cleo = next(agent for agent in ended["agents"] if agent["name"] == "cleo")
    assert cleo["context_percent"] > 80


def _the_story_is_in(events: list[dict[str, Any]]) -> None:
    opened = [event["data"]["kind"] for event in kinds(events, "decision.opened")]
    assert sorted(opened) == ["escalation", "escalation", "permission", "plan", "plan", "question"]
    answers = [event["data"]["choice"] for event in kinds(events, "decision.answered") if event["data"]["kind"] == "plan"]
    assert answers == ["revise", "approve"]
    (failed,) = kinds(events, "run.failed")
    assert (failed["task"], failed["agent"], failed["data"]["reason"]) == ("T-2", "ben", "reported")
    (given,) = kinds(events, "task.reassigned")
    assert given["task"] == "T-2"
    completed = {event["task"]: event["data"] for event in kinds(events, "task.completed")}
    assert (completed["T-2"]["by"], completed["T-1"]["by"]) == ("ada", "ada")
    assert all(data["evidence"] for data in completed.values())
    assert len(kinds(events, "message.sent")) == 2
    order = [event["task"] for event in events if event["kind"] in ("task.completed", "task.claimed")]
    assert order.index("T-4") > max(order.index("T-1"), len(order) - 1 - order[::-1].index("T-2"))


def test_without_a_lead_it_ends_with_three_and_goes_on_after_answers_by_hand(tmp_path: Path) -> None:
    home, plan = tmp_path / "home", tmp_path / "plan.yaml"
    (tmp_path / "script.yaml").write_text(SCRIPT)
    plan.write_text(PLAN)
    code, ended = manage(home, "team", "start", str(plan), "--rehearse", "--wait", "--timeout", "120")
    assert (code, ended["outcome"]) == (3, "waiting"), ended
    assert left_behind(home) == []
    (asked,) = ended["decisions"]
    code, shown = manage(home, "decide", asked["id"], "--allow")
    assert (code, shown["status"]) == (0, "answered")
    code, ended = manage(home, "team", "wait", "small", "--timeout", "120")
    assert (code, ended["outcome"]) == (0, "completed"), ended
    assert (Path(ended["team"]["workspace"]) / "made.txt").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_when_up_ends_its_agents_and_their_shells_end_and_the_next_up_goes_on(tmp_path: Path, how: signal.Signals) -> None:
    home, plan = tmp_path / "home", tmp_path / "plan.yaml"
    (tmp_path / "script.yaml").write_text(LONG_SCRIPT)
    plan.write_text(PLAN + "permissions: {allow: [Bash]}\n")
    first = RunningDesk(home, free_port(), "--rehearse")
    second = None
    try:
        first.wait_ready()
        assert manage(home, "team", "start", str(plan), "--rehearse")[0] == 0
        wait_for(lambda: _sleepers(), seconds=60)
        first.process.send_signal(how)
        first.process.wait(timeout=12)
        wait_for(lambda: not left_behind(home) and not _sleepers(), seconds=12)
        second = RunningDesk(home, free_port(), "--rehearse").wait_ready()
        wait_for(lambda: _statuses(home) == ["completed"], seconds=90)  # a command per look would keep a core busy
        assert manage(home, "team", "list")[1][0]["tasks_done"] == 1
    finally:
        first.end()
        if second is not None:
            second.end()


def _statuses(home: Path) -> list[str]:
    """Return how each task of this home stands."""
    with contextlib.closing(sqlite3.connect(f"file:{home / prepared.DATABASE}?mode=ro", uri=True)) as database:
        return [status for (status,) in database.execute("SELECT status FROM tasks_app_task")]


def _sleepers() -> list[int]:
    """Return the processes of the long command, found by its odd number."""
    return [process.pid for process in psutil.process_iter() if _command(process).endswith("sleep 347")]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()) if process.status() != psutil.STATUS_ZOMBIE else ""
    except psutil.Error:
        return ""
