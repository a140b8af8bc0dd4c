"""A conversation that lost a line, on the real Claude Code process: who goes on knows all the rest, and asks nothing twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.execution.databases import own_database
from tests.management.desks import ROOT

pytestmark = pytest.mark.engine
WAITING = 3
PLAN = """
team: Gap
rehearsal: script.yaml
limits: {grace_s: 0}
permissions: {allow: [Bash], ask: ["Bash(mkdir *)"]}
agents: [{name: builder, role: builder}]
tasks: [{key: build, title: Build, criteria: [done]}]
"""
SCRIPT = """
parts:
  - task: build
    turns:
      - call: {tool: Bash, input: {command: "echo once >> work.log", description: Work}}
      - call: {tool: Bash, input: {command: "mkdir -p made", description: Ask}}
      - call: {complete: it is done}
"""
LOSE = """
import json
from tasks_app.models import Decision, TranscriptEntry
lines = TranscriptEntry.objects.exclude(uuid=None)
gone = lines.get(entry__contains=f'"id": "{Decision.objects.get().tool_use_id}"')
print(json.dumps(lines.filter(entry__contains=f'"parentUuid": "{gone.uuid}"').count()))
gone.delete()
begins = lines.get(entry__contains="[crewdesk:task ").uuid
for note in TranscriptEntry.objects.filter(entry__contains='"leafUuid": '):  # as old as it is on a busy machine
    note.entry = json.dumps({**json.loads(note.entry), "leafUuid": begins})
    note.save()
"""
LOOK = """
import json
from tasks_app.models import Decision, Step, Task
made = Step.objects.filter(kind="tool_call", text="Bash").order_by("seq").values_list("data", flat=True)
print(json.dumps({
    "asked": Decision.objects.count(),
    "output": Task.objects.get().output,
    "calls": [data["input"].get("command") for data in made],
    "told": list(Step.objects.filter(kind="prompt").order_by("seq").values_list("text", flat=True)),
}))
"""


def test_an_agent_whose_last_call_was_lost_goes_on_after_all_that_was_not(tmp_path: Path) -> None:
    """Seen with a disk that was full for a moment: Claude Code went on from the task's prompt and did all of it once more."""
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "script.yaml").write_text(SCRIPT)
    with own_database() as database:
        env = {**os.environ, "CREWDESK_HOME": str(tmp_path / "home"), "DATABASE_URL": database}

        def run(*words: str, ends: int = 0) -> str:
            argv = [sys.executable, "manage.py", *words]
            done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, timeout=170)
            assert done.returncode == ends, done.stdout[-3000:] + done.stderr[-3000:]
            return done.stdout

        def asked(code: str) -> object:
            return json.loads(run("shell", "--no-imports", "-v", "0", "-c", code).strip().splitlines()[-1])

        run("team", "start", str(tmp_path / "plan.yaml"), "--rehearse", "--wait", "--json", "--timeout", "120", ends=WAITING)
        assert asked(LOSE) == 1, "a line that was stored follows from the one that is lost"
        waits = json.loads(run("decide", "--json"))
        run("decide", waits[0]["id"], "--allow", "--json")
        run("team", "wait", "gap", "--json", "--timeout", "120")
        found = asked(LOOK)
    assert isinstance(found, dict)
    assert (found["asked"], found["output"]) == (1, "it is done")
    assert found["calls"] == ["echo once >> work.log", "mkdir -p made", "mkdir -p made"], (
        "asked for, then made; nothing else twice"
    )
    assert "It was not made: it waited for the lead." in found["told"][1]
    assert "not known" not in found["told"][1]
