"""A message to an agent in the middle of its run, with the real Claude Code process: handed over once, and seen to be read."""

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


STOPPING = """
parts:
  - task: write
    turns:
      - call: {tool: Bash, input: {command: "sleep 2", description: Let the other begin}}
      - call: {crew: SendMessage, input: {to: reader, priority: interrupt, message: "Stop, the folder is wrong."}}
      - call: {complete: sent}
  - task: read
    turns:
      - call: {tool: Bash, input: {command: "sh -c 'sleep 90; touch late'", description: Work}}
      - call: {crew: SendMessage, input: {to: writer, message: "Stopped. Which folder?"}}
      - call: {complete: read}
"""
STOPPED = """
import json
from tasks_app.models import Message, Run
m = Message.objects.get(priority="interrupt")
seconds = m.stop_s
calls = list(Run.objects.get(agent__name="reader").steps.filter(kind="prompt").values_list("text", flat=True))
print(json.dumps([seconds, m.read_at is not None, m.answered_at is not None, sum(m.pk in text for text in calls)]))
"""


def run_crew(tmp_path: Path, script: str, look: str) -> list[object]:
    """Let the crew play the script to its end, and return what the look at the database prints."""
    env = {**os.environ, "CREWDESK_HOME": str(prepared.home(tmp_path / "home")), "DATABASE_URL": "", "CREWDESK_WORKER_SLOTS": "2"}
    plan = PLAN.replace("Bash(sleep:*)", "Bash")
    for name, text in {"plan.yaml": plan, "script.yaml": script, "lead.yaml": "rules: []\n"}.items():
        (tmp_path / name).write_text(text)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=200)

    given = [str(tmp_path / "plan.yaml"), "--rehearse", "--lead", str(tmp_path / "lead.yaml")]
    done = run("manage.py", "team", "start", *given, "--wait", "--json", "--timeout", "120")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    looked = run("manage.py", "shell", "--no-imports", "-v", "0", "-c", look)
    assert looked.returncode == 0, looked.stderr
    found = json.loads(looked.stdout.strip().splitlines()[-1])
    assert isinstance(found, list)
    return found


def test_it_reaches_the_agent_once_and_counts_as_read_when_its_transcript_holds_it(tmp_path: Path) -> None:
    delivered, was_read, handed, held = run_crew(tmp_path, SCRIPT, LOOK)
    assert (delivered, was_read, handed) == (True, True, 1)
    assert isinstance(held, int)
    assert held >= 1


def test_an_urgent_one_stops_the_sleep_of_its_reader_within_seconds_and_is_read_next_and_answered(tmp_path: Path) -> None:
    seconds, was_read, answered, told = run_crew(tmp_path, STOPPING, STOPPED)
    assert isinstance(seconds, float)
    assert 0 <= seconds < 10
    assert (was_read, answered, told) == (True, True, 1)
