"""Workers are killed in the middle of a lead agent's turns, before and after its choice: turns go on, choices are made once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.management.desks import ROOT, RunningDesk, free_port

pytestmark = [pytest.mark.engine, pytest.mark.chaos]
PLAN = """
team: Led
rehearsal: script.yaml
limits: {parallel: 2, attempts: 1}
permissions: {allow: ["Bash(sh DIE *)"]}
agents:
  - {name: ada, role: lead}
  - {name: bo, role: builder}
  - {name: cy, role: tester}
tasks:
  - {key: ask, title: Ask, criteria: [done], assignee: bo}
  - {key: large, title: Large, criteria: [done], assignee: bo, depends_on: [ask]}
"""
SCRIPT = """
parts:
  - agent: ada
    task: turn-1
    turns:
      - call: {crew: Waiting}
      - call: {tool: Bash, input: {command: sh DIE before, description: The worker dies before the answer}}
      - call:
          crew: Answer
          input: {decision: "{asked1}", version: "{version1}", seen: "{seen1}", answers: {"Which port?": "8400"}}
      - call: {tool: Bash, input: {command: sh DIE after, description: And once more after it}}
      - call: {complete: answered}
  - agent: ada
    task: turn-2
    turns:
      - call:
          crew: Split
          input:
            taskId: "2"
            parts:
              - {subject: First half, description: The first half., criteria: [done], agent: cy}
              - {subject: Second half, description: The second half., criteria: [done], agent: bo, after: [1]}
      - call: {tool: Bash, input: {command: sh DIE split, description: The worker dies after the split}}
      - call: {complete: split}
  - task: ask
    turns:
      - call:
          tool: AskUserQuestion
          input:
            questions:
              - question: "Which port?"
                header: Port
                multiSelect: false
                options: [{label: "8000", description: a}, {label: "8400", description: b}]
      - call: {complete: asked}
  - task: large
    attempt: 1
    turns:
      - call: {crew: TaskUpdate, input: {taskId: "{task}", status: pending, metadata: {failure: Too large.}}}
"""
DIE = """mkdir "$0.$1" 2>/dev/null || exit 0
pid=$PPID
while [ "$pid" -gt 1 ]; do
  if ps -o args= -p "$pid" | grep -q dashboard.worker; then kill -9 "$pid"; echo "$pid" >"$0.$1/killed"; sleep 60; fi
  pid=$(ps -o ppid= -p "$pid" | tr -d ' ')
done
"""
"""Run by the agent's shell: kills the worker that drives the agent, once for each word."""
LOOK = """
import json
from tasks_app.models import Decision, Event, Run, Task
count = lambda kind, **more: Event.objects.filter(kind=kind, **more).count()
print(json.dumps({
    "answered": [[d.kind, d.answered_by, d.status] for d in Decision.objects.order_by("opened_at")],
    "events": {kind: count(kind) for kind in ("decision.answered", "task.split", "lead.woken")},
    "turns": list(Run.objects.filter(task__type="lead").order_by("created_at").values_list("attempt", "status", "handoffs")),
    "tasks": sorted([t.title, t.status] for t in Task.objects.exclude(type="lead")),
    "asked": list(Run.objects.filter(task__key="ask").values_list("attempt", "status")),
}))
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[RunningDesk]:
    running = RunningDesk(tmp_path / "home", free_port(), "--rehearse", "--workers", "2", env={"CREWDESK_WORKER_SLOTS": "3"})
    try:
        yield running.wait_ready()
    finally:
        running.end()


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "CREWDESK_HOME": str(home), "DATABASE_URL": ""}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=170
    )


def test_each_turn_goes_on_in_another_life_and_each_choice_is_made_once(desk: RunningDesk, tmp_path: Path) -> None:
    for name, text in {"plan.yaml": PLAN, "script.yaml": SCRIPT, "die.sh": DIE}.items():
        (tmp_path / name).write_text(text.replace("DIE", str(tmp_path / "die.sh")))
    done = run(desk.home, "team", "start", str(tmp_path / "plan.yaml"), "--rehearse", "--wait", "--json", "--timeout", "150")
    story = done.stdout[-3000:] + done.stderr[-2000:] + desk.text()[-2000:]
    assert done.returncode == 0, story
    assert {path.suffix for path in tmp_path.glob("die.sh.*")} == {".before", ".after", ".split"}
    assert desk.text().count("was killed by signal 9") == 3
    looked = run(desk.home, "shell", "--no-imports", "-v", "0", "-c", LOOK)
    found = json.loads(looked.stdout.strip().splitlines()[-1])
    assert found["events"] == {"decision.answered": 1, "task.split": 1, "lead.woken": 2}, story
    assert found["answered"][0] == ["question", "lead agent ada", "answered"]
    assert found["asked"] == [[1, "completed"]], "who asked goes on in the same attempt"
    assert found["turns"] == [[1, "completed", 2], [1, "completed", 1]], "each death was taken over, each turn is one attempt"
    assert found["tasks"] == [[title, "completed"] for title in ("Ask", "First half", "Large", "Second half")]
