"""A message to an agent in the middle of its run, with the real Claude Code process: handed over once, and seen to be read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.management.desks import ROOT

pytestmark = pytest.mark.engine
PLAN = """
team: Talking
rehearsal: script.yaml
limits: {parallel: 2}
permissions: {allow: ["Bash(sleep:*)"]}
agents:
  - {name: writer, role: a}
  - {name: reader, role: b}
tasks:
  - {key: write, title: Write, criteria: [done], role: a}
  - {key: read, title: Read, criteria: [done], role: b}
"""
SCRIPT = """
parts:
  - task: write
    turns:
      - call: {tool: Bash, input: {command: "sleep 2", description: Let the other begin}}
      - call: {crew: SendMessage, input: {to: reader, message: The schema is ready.}}
      - call: {complete: sent}
  - task: read
    turns:
      - call: {tool: Bash, input: {command: "sleep 3", description: Work}}
      - call: {tool: Bash, input: {command: "sleep 3", description: Work}}
      - call: {tool: Bash, input: {command: "sleep 1", description: Work}}
      - call: {complete: read}
"""
LOOK = """
import json
from tasks_app.models import Event, Message, TranscriptEntry
m = Message.objects.get()
held = sum(m.pk in entry for entry in TranscriptEntry.objects.values_list("entry", flat=True))
handed = Event.objects.filter(kind="message.delivered").count()
print(json.dumps([m.delivered_at is not None, m.read_at is not None, handed, held]))
"""


def test_it_reaches_the_agent_once_and_counts_as_read_when_its_transcript_holds_it(tmp_path: Path) -> None:
    env = {**os.environ, "CREWDESK_HOME": str(tmp_path / "home"), "DATABASE_URL": "", "CREWDESK_WORKER_SLOTS": "2"}
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "script.yaml").write_text(SCRIPT)
    (tmp_path / "lead.yaml").write_text("rules: []\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=200)

    plan, lead = str(tmp_path / "plan.yaml"), str(tmp_path / "lead.yaml")
    done = run("manage.py", "team", "start", plan, "--rehearse", "--lead", lead, "--wait", "--json", "--timeout", "120")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    looked = run("manage.py", "shell", "--no-imports", "-v", "0", "-c", LOOK)
    assert looked.returncode == 0, looked.stderr
    delivered, was_read, handed, held = json.loads(looked.stdout.strip().splitlines()[-1])
    assert (delivered, was_read, handed) == (True, True, 1)
    assert held >= 1
