"""Criteria that are proved, with the real Claude Code process: a check, an artifact and a judging lead, attached and parked."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    env = {**os.environ, "CREWDESK_HOME": str(tmp_path / "home"), "DATABASE_URL": "", "CREWDESK_WORKER_SLOTS": "1"}
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
