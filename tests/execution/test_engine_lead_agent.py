"""A lead agent on the real Claude Code process: it answers, reassigns, splits and hands on; the human does the rest."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import prepared
from tests.management.desks import ROOT

pytestmark = pytest.mark.engine
PLAN = """
team: Led
rehearsal: script.yaml
limits: {parallel: 2, attempts: 1}
permissions: {allow: ["Bash(sh DIE)"]}
agents:
  - {name: ada, role: lead}
  - {name: bo, role: builder}
  - {name: cy, role: tester}
tasks:
  - {key: ask, title: Ask, criteria: [done], assignee: bo}
  - {key: fail, title: Fail, criteria: [done], assignee: bo, depends_on: [ask]}
  - {key: choose, title: Choose, criteria: [done], assignee: bo, depends_on: [fail]}
  - {key: large, title: Large, criteria: [done], assignee: bo, depends_on: [choose]}
"""
SCRIPT = """
parts:
  - agent: ada
    task: turn-1
    turns:
      - call: {crew: Waiting}
      - call: {tool: Bash, input: {command: sh DIE, description: The process of the lead agent dies once}}
      - call:
          crew: Answer
          input: {decision: "{asked1}", version: "{version1}", seen: "{seen1}", answers: {"Which port?": "8400"}}
      - call: {complete: answered}
  - agent: ada
    task: turn-2
    turns:
      - call:
          crew: Assign
          input: {taskId: "2", agent: cy, guidance: "Do it the other way."}
      - call: {complete: given to cy}
  - agent: ada
    task: turn-3
    turns:
      - call: {crew: Escalate, input: {problem: x, options: [{label: y}]}}
      - call: {crew: HandOn, input: {decision: "{asked1}", why: "It is about the customer, I would say blue."}}
      - call: {complete: handed on}
  - agent: ada
    task: turn-4
    turns:
      - call:
          crew: Split
          input:
            taskId: "4"
            parts:
              - {subject: First half, description: The first half., criteria: [done], agent: cy}
              - {subject: Second half, description: The second half., criteria: [done], agent: bo, after: [1]}
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
  - task: fail
    agent: bo
    turns:
      - call: {crew: TaskUpdate, input: {taskId: "{task}", status: pending, metadata: {failure: It does not work.}}}
  - task: choose
    turns:
      - call: {crew: Escalate, input: {problem: "Red or blue?", options: [{label: Red, effect: a}, {label: Blue, effect: b}]}}
      - call: {complete: chosen}
  - task: large
    attempt: 1
    turns:
      - call: {crew: TaskUpdate, input: {taskId: "{task}", status: pending, metadata: {failure: Too large.}}}
"""
DIE = """mkdir "$0.once" || exit 0
kill -9 $(ps -o ppid= -p $PPID)
"""
"""Run by Claude Code's shell: kills the Claude Code that started it, the first time."""
LEAD = """
rules:
  - when: {kind: escalation, contains: "Red or blue"}
    answer: {choice: answer, pick: Blue}
    after: 8
  - when: {kind: escalation, agent: ada}
    answer: {choice: answer, text: Go on.}
"""
LOOK = """
import json
from tasks_app.models import Decision, Event, Run, Task
print(json.dumps({
    "answered": [[d.kind, d.answered_by, d.status, d.handed_why[:24], d.decider] for d in Decision.objects.order_by("opened_at")],
    "acts": [[e.kind, e.actor] for e in Event.objects.filter(kind__in=["task.split", "decision.handed_on"]).order_by("seq")],
    "given": [e.data["to"] for e in Event.objects.filter(kind="task.reassigned", actor="agent:ada", task_number=2)],
    "tasks": sorted([t.title, t.status, t.completed_by] for t in Task.objects.exclude(type="lead")),
    "fence": Run.objects.get(task__key="turn-1").fence,
    "turns": Task.objects.filter(type="lead", status="completed").count(),
}))
"""


def test_the_lead_agent_answers_after_its_process_was_killed_reassigns_hands_on_and_splits(tmp_path: Path) -> None:
    env = {**os.environ, "CREWDESK_HOME": str(prepared.home(tmp_path / "home")), "DATABASE_URL": "", "CREWDESK_WORKER_SLOTS": "3"}
    for name, text in {"plan.yaml": PLAN, "script.yaml": SCRIPT, "lead.yaml": LEAD, "die.sh": DIE}.items():
        (tmp_path / name).write_text(text.replace("DIE", str(tmp_path / "die.sh")))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=200)

    given = [str(tmp_path / "plan.yaml"), "--rehearse", "--lead", str(tmp_path / "lead.yaml")]
    done = run("manage.py", "team", "start", *given, "--wait", "--json", "--timeout", "120")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-3000:]
    looked = run("manage.py", "shell", "--no-imports", "-v", "0", "-c", LOOK)
    found = json.loads(looked.stdout.strip().splitlines()[-1])
    kinds = [tuple(one) for one in found["answered"]]
    assert ("question", "lead agent ada", "answered", "", "lead") in kinds
    assert ("escalation", "lead (scripted)", "answered", "It is about the customer", "human") in kinds
    assert found["given"] == ["cy"]
    assert ["task.split", "agent:ada"] in found["acts"]
    assert ["decision.handed_on", "agent:ada"] in found["acts"]
    assert {title: by for title, _, by in found["tasks"]}["Fail"] == "cy"
    assert {status for _, status, _ in found["tasks"]} == {"completed"}
    assert len(found["tasks"]) == 6
    assert found["turns"] == 4
    assert (tmp_path / "die.sh.once").exists()
    assert found["fence"] > 1
