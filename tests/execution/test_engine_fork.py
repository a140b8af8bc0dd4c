"""A fork and a rewind in a rehearsed team, with the real Claude Code process, through the terminal."""

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
team: Forking
rehearsal: script.yaml
limits: {parallel: 1, attempts: 1}
agents:
  - {name: ann, role: a}
tasks:
  - {key: build, title: Build, criteria: [done], role: a}
"""
SCRIPT = """
parts:
  - task: build
    turns:
      - say: first I look
        call: {tool: Bash, input: {command: "echo one >> log.txt", description: a}}
      - say: now I write
        call: {tool: Bash, input: {command: "echo two >> log.txt", description: a}}
      - call: {complete: built}
"""
LEAD = "rules:\n  - {when: {kind: permission}, answer: {choice: allow}}\n"
LOOK = """
import json
from tasks_app.models import Run, Step, TranscriptEntry
found = []
for run in Run.objects.order_by("attempt"):
    steps = list(Step.objects.filter(run=run).order_by("seq").values_list("seq", "kind", "text", "data"))
    rows = [json.loads(r) for r in TranscriptEntry.objects.filter(session_id=run.session_id).values_list("entry", flat=True)]
    found.append([run.pk, run.status, run.reason, run.detail, run.fork, run.session_id, steps, len(rows), run.workspace_commit])
print(json.dumps(found))
"""


def test_a_finished_attempt_is_forked_at_something_it_said_and_the_files_are_put_back(tmp_path: Path) -> None:
    env = {**os.environ, "CREWDESK_HOME": str(prepared.home(tmp_path / "home")), "DATABASE_URL": "", "CREWDESK_WORKER_SLOTS": "1"}
    for name, text in (("plan.yaml", PLAN), ("script.yaml", SCRIPT), ("lead.yaml", LEAD)):
        (tmp_path / name).write_text(text)

    def run(*arguments: str) -> str:
        done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
        return done.stdout

    def looked() -> list[list[object]]:
        return json.loads(run("manage.py", "shell", "--no-imports", "-v", "0", "-c", LOOK).strip().splitlines()[-1])

    lead = str(tmp_path / "lead.yaml")
    run("manage.py", "team", "start", str(tmp_path / "plan.yaml"), "--rehearse", "--lead", lead, "--wait", "--json")
    log = next((tmp_path / "home" / "workspaces").glob("*/work")) / "log.txt"
    assert log.read_text() == "one\ntwo\n"
    before = looked()[0]
    listed = json.loads(run("manage.py", "task", "forking", "T-1", "--messages", "1", "--json"))
    at = next(str(each["at"]) for each in listed if each["text"] == "now I write")
    run("manage.py", "task", "forking", "T-1", "--fork", "1", "--at", at, "--files", "then", "--guidance", "Once more.")
    assert not log.exists(), "the files are those of the prompt before the message"
    run("manage.py", "team", "wait", "forking", "--lead", lead, "--json")
    old, new = looked()
    assert old == before, "the old attempt is as it was"
    assert (new[1], new[3]) == ("completed", "")
    assert log.read_text() == "two\n", "what comes after the message is done again, what stood before it is not"
    prompt = next(text for _, kind, text, _ in new[6] if kind == "prompt")  # type: ignore[attr-defined]
    assert "[crewdesk:fork T-1 attempt 2]" in prompt
    assert "“now I write”" in prompt
    assert "Once more." in prompt
    assert new[5] not in ("", old[5])
    shown = json.loads(run("manage.py", "task", "forking", "T-1", "--rewind", "2", "--at", "1", "--preview", "--json"))
    assert shown["files"] == ["log.txt"]
