"""Criteria that are proved, with the real Claude Code process: a check, an artifact and a judging lead, attached and parked."""

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
team: Proving
rehearsal: script.yaml
limits: {parallel: 1, grace_s: GRACE}
permissions: {allow: ["Write", "Edit"]}
agents:
  - {name: writer, role: a}
tasks:
  - key: describe
    title: Describe the API
    role: a
    criteria:
      - Every endpoint has an example
      - check: grep -q Payments docs/api.md
      - artifact: docs/api.md
      - {judge: lead, text: A new colleague would understand it}
"""
SCRIPT = """
parts:
  - task: describe
    turns:
      - say: I claim that it is there.
        call: {complete: It is there.}
      - either:
          - when: {result_contains: docs/api.md is not there, result_is_error: true}
            then:
              - call: {tool: Write, input: {file_path: "{workspace}/docs/api.md", content: "# Payments\\n"}}
              - call: {complete: It is written.}
          - then: [{say: It was believed.}]
      - either:
          - when: {result_contains: Add prices}
            then:
              - call: {tool: Write, input: {file_path: "{workspace}/docs/prices.md", content: "# Prices\\n"}}
              - call: {complete: It has prices.}
          - when: {answer_contains: Add prices}
            then:
              - call: {tool: Write, input: {file_path: "{workspace}/docs/prices.md", content: "# Prices\\n"}}
              - call: {complete: It has prices.}
          - then: [{say: It was not sent back.}]
"""
LEAD = """
rules:
  - when: {kind: review, nth: 1}
    answer: {choice: revise, note: Add prices.}
  - when: {kind: review}
    answer: {choice: approve, note: Good.}
"""
LOOK = """
import json
from tasks_app.models import Decision, Event, Run, Task
task, run = Task.objects.get(), Run.objects.get()
asked = [[d.choice, d.parked, d.consumed_at is not None] for d in Decision.objects.order_by("opened_at")]
events = Event.objects.filter(kind="task.proved").order_by("seq")
proved = [[[one["number"], one["met"]] for one in e.data["results"]] for e in events]
print(json.dumps([task.status, task.evidence, run.attempt, asked, proved, [one["met"] for one in run.proofs]]))
"""


@pytest.mark.parametrize("grace_s", [60, 0], ids=["attached", "parked"])
def test_a_task_is_completed_only_when_its_proofs_succeed_and_the_lead_accepts_it(tmp_path: Path, grace_s: int) -> None:
    env = {**os.environ, "CREWDESK_HOME": str(prepared.home(tmp_path / "home")), "DATABASE_URL": "", "CREWDESK_WORKER_SLOTS": "1"}
    for name, text in (("plan.yaml", PLAN.replace("GRACE", str(grace_s))), ("script.yaml", SCRIPT), ("lead.yaml", LEAD)):
        (tmp_path / name).write_text(text)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=200)

    plan, lead = str(tmp_path / "plan.yaml"), str(tmp_path / "lead.yaml")
    done = run("manage.py", "team", "start", plan, "--rehearse", "--lead", lead, "--wait", "--json", "--timeout", "120")
    looked = run("manage.py", "shell", "--no-imports", "-v", "0", "-c", LOOK)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:] + looked.stdout
    assert looked.returncode == 0, looked.stderr
    status, evidence, attempt, asked, proved, met = json.loads(looked.stdout.strip().splitlines()[-1])
    assert (status, attempt, met) == ("completed", 1, [True, True, True])
    assert evidence["3"] == "docs/api.md: 11 bytes"
    assert evidence["4"].startswith("accepted by ")
    assert evidence["2"].startswith("`grep -q Payments docs/api.md`: exit code 0")
    assert [choice for choice, _, _ in asked] == ["revise", "approve"]
    assert all(spent for _, _, spent in asked)
    assert proved[0] == [[2, False], [3, False]]
    assert [[2, True], [3, True]] in proved
    assert proved[-1] == [[4, True]]


REVIEWED = """
team: Reviewing
rehearsal: script.yaml
limits: {parallel: 1}
permissions: {allow: ["Write"]}
agents:
  - {name: writer, role: a}
  - {name: rita, role: b}
tasks:
  - key: describe
    title: Describe the API
    role: a
    criteria:
      - check: test -f api.md
      - {judge: rita, text: It names every price}
  - {key: after, title: Publish it, criteria: [done], role: a, depends_on: [describe]}
"""
REVIEW_SCRIPT = """
parts:
  - task: describe
    attempt: 1
    turns:
      - call: {tool: Write, input: {file_path: "{workspace}/api.md", content: "# API\\n"}}
      - call: {complete: It is written.}
  - task: describe
    attempt: 2
    turns:
      - call: {tool: Write, input: {file_path: "{workspace}/prices.md", content: "# Prices\\n"}}
      - call: {complete: It has prices.}
  - task: "Review T-1 (attempt 1)*"
    turns:
      - call:
          crew: TaskUpdate
          input:
            {taskId: "{task}", status: completed, evidence: [api.md], verdict: send_back, summary: Prices are missing.}
  - task: "Review T-1 (attempt 2)*"
    turns:
      - call: {complete: Every price is there., input: {verdict: accept}}
"""
SEEN = """
import json
from tasks_app.models import Decision, Event, Run, Task
first = Task.objects.get(number=1)
runs = [[r.task.number, r.agent.name, r.attempt, r.status] for r in Run.objects.order_by("created_at")]
verdicts = [e.data["verdict"] for e in Event.objects.filter(kind="task.reviewed").order_by("seq")]
guidance = Run.objects.get(task=first, attempt=2).guidance
print(json.dumps([first.status, first.evidence, runs, verdicts, guidance, Decision.objects.count()]))
"""


def test_a_reviewer_agent_sends_the_work_back_and_then_accepts_it(tmp_path: Path) -> None:
    env = {**os.environ, "CREWDESK_HOME": str(prepared.home(tmp_path / "home")), "DATABASE_URL": "", "CREWDESK_WORKER_SLOTS": "1"}
    for name, text in (("plan.yaml", REVIEWED), ("script.yaml", REVIEW_SCRIPT), ("lead.yaml", "rules: []\n")):
        (tmp_path / name).write_text(text)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=200)

    plan, lead = str(tmp_path / "plan.yaml"), str(tmp_path / "lead.yaml")
    done = run("manage.py", "team", "start", plan, "--rehearse", "--lead", lead, "--wait", "--json", "--timeout", "150")
    looked = run("manage.py", "shell", "--no-imports", "-v", "0", "-c", SEEN)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:] + looked.stdout
    assert looked.returncode == 0, looked.stderr
    status, evidence, runs, verdicts, guidance, asked = json.loads(looked.stdout.strip().splitlines()[-1])
    assert (status, verdicts, asked) == ("completed", ["send_back", "accept"], 0)
    assert evidence["2"] == "accepted by rita (T-4): Every price is there."
    assert guidance == "Sent back by rita: Prices are missing."
    assert sorted(runs[:4]) == sorted(
        [
            [1, "writer", 1, "completed"],
            [3, "rita", 1, "completed"],
            [1, "writer", 2, "completed"],
            [4, "rita", 1, "completed"],
        ]
    )
    assert runs[4][:2] == [2, "writer"], "what depends on it waited for the verdict"
