"""What lies on the boundary, called by an agent on the real Claude Code process: it hears each refusal in words and goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.boundaries import table
from tests.execution.databases import own_database
from tests.management.desks import ROOT

pytestmark = pytest.mark.engine
TOOL = "agent's tool"
PLAN = """
team: Edge
rehearsal: script.yaml
permissions: {allow: ["Bash(sleep *)"]}
context_schemas: {port: {type: integer}}
agents:
  - {name: builder-1, role: builder}
  - {name: builder-2, role: builder}
tasks:
  - {key: first, title: First, criteria: [done], assignee: builder-1}
  - {key: then, title: Then, criteria: [done], assignee: builder-2, depends_on: [first]}
"""
CALLS = (
    ("ShareContext", {"name": "port", "value": "x"}, table.cell("bad schema", TOOL)),
    ("ShareContext", {"name": "port", "value": 8400, "ttl_s": 0.5}, "version 1"),
    ("ShareContext", {"name": "port", "value": 8500, "version": 7}, "“port” is at version 1 by builder-1, not 7."),
    ("Bash", {"command": "sleep 1", "description": "Its time is over"}, ""),
    ("ShareContext", {"name": "port", "value": 8600, "version": 1}, table.cell("expired", TOOL)),
    ("SendMessage", {"to": "builder-3", "message": "Hello."}, "Did you mean builder-"),
    ("SendMessage", {"to": "builder-2", "message": "🚀" * 250_000}, "has 250,000 characters; at most 100,000 are taken."),
    ("SendMessage", {"to": "builder-2", "message": "현 👩‍👩‍👧‍👦"}, "Queued for builder-2"),
    ("TaskUpdate", {"taskId": "{task}", "addBlockedBy": ["2"]}, "That would close a cycle: T-1 → T-2 → T-1."),
    ("TaskUpdate", {"taskId": "{task}", "addBlockedBy": ["9"]}, "There is no task “9” in this team. There are: T-1, T-2."),
    ("Restore", {"checkpoint": "k0"}, "No such tool"),
)
"""Tool, input, what the agent is told. No script can hold a lone surrogate; no tool goes back to a checkpoint."""
LOOK = """
import json
from tasks_app.models import ContextEntry, Dependency, Message, Run, Step
run = Run.objects.get(task__key="first")
print(json.dumps({
    "heard": list(Step.objects.filter(run=run, kind="tool_result").order_by("seq").values_list("text", flat=True)),
    "shared": ContextEntry.objects.count(),
    "messages": list(Message.objects.values_list("body", flat=True)),
    "edges": Dependency.objects.count(),
    "run": [run.attempt, run.status],
}))
"""


def turn(tool: str, given: dict[str, object]) -> dict[str, object]:
    name = {"tool": tool} if tool == "Bash" else {"crew": tool}
    return {"call": {**name, "input": given}}


def test_an_agent_hears_each_refusal_and_nothing_of_it_is_written(tmp_path: Path) -> None:
    turns = [*(turn(tool, given) for tool, given, _ in CALLS), {"call": {"complete": "done"}}]
    parts = [{"task": "first", "turns": turns}, {"task": "then", "turns": [{"call": {"complete": "done"}}]}]
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "script.yaml").write_text(json.dumps({"parts": parts}, ensure_ascii=False))  # JSON is YAML
    with own_database() as database:
        env = {**os.environ, "CREWDESK_HOME": str(tmp_path / "home"), "DATABASE_URL": database}

        def run(*words: str) -> str:
            done = subprocess.run(
                [sys.executable, "manage.py", *words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=170
            )
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
            return done.stdout

        run("team", "start", str(tmp_path / "plan.yaml"), "--rehearse", "--wait", "--json", "--timeout", "120")
        found = json.loads(run("shell", "--no-imports", "-v", "0", "-c", LOOK).strip().splitlines()[-1])
    for (tool, _, words), heard in zip(CALLS, found["heard"], strict=False):
        assert words in heard, (tool, heard[:400])
    assert (found["shared"], found["edges"], found["run"]) == (0, 1, [1, "completed"])
    (kept,) = found["messages"]
    assert kept == "현 👩‍👩‍👧‍👦"
