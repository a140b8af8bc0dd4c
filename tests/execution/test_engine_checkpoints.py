"""Going back to a checkpoint with the real Claude Code process: work, a checkpoint, more work, back, and on to the end."""

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
team: Going back
rehearsal: script.yaml
limits: {parallel: 1}
agents:
  - {name: writer, role: a}
tasks:
  - {key: schema, title: Schema, criteria: [done], role: a}
  - {key: page, title: Page, criteria: [done], role: a, depends_on: [schema]}
"""
SCRIPT = """
parts:
  - task: schema
    turns:
      - call: {crew: ShareContext, input: {name: table, value: invoice}}
      - call: {complete: the schema is there}
  - task: page
    turns:
      - call: {tool: Bash, input: {command: "echo early >> page.txt", description: Begin}}
      - call: {crew: SaveCheckpoint, input: {name: half}}
      - call: {tool: Bash, input: {command: "echo late >> page.txt", description: Go on}}
      - call: {crew: ShareContext, input: {name: stage, value: late}}
      - call: {complete: the page is there}
"""
LEAD = """
after: 0.1
rules:
  - when: {kind: permission}
    answer: {choice: allow}
"""
LOOK = """
import json
from pathlib import Path
from tasks_app.models import Agent, Checkpoint, ContextEntry, Event, Run, Task, Team, TranscriptEntry
team = Team.objects.get()
lines = {s: [json.loads(e) for e in TranscriptEntry.objects.filter(session_id=s, subpath="").order_by("pk")
         .values_list("entry", flat=True)] for s in set(TranscriptEntry.objects.values_list("session_id", flat=True))}
said = {s: sum("echo late" in json.dumps(one.get("message", {})) and one["type"] == "assistant" for one in found)
        for s, found in lines.items()}
print(json.dumps({
    "tasks": list(Task.objects.order_by("number").values_list("status", flat=True)),
    "file": (Path(team.workspace) / "page.txt").read_text().split(),
    "shared": {e.name: e.value for e in ContextEntry.objects.all()},
    "runs": [[r.task.number, r.attempt, r.status, r.session_id] for r in Run.objects.order_by("created_at")],
    "late": said,
    "names": list(Checkpoint.objects.order_by("at").values_list("name", flat=True)),
    "restored": Event.objects.filter(kind="checkpoint.restored").count(),
}))
"""


def test_a_team_goes_back_to_the_middle_of_a_task_and_on_to_the_end(tmp_path: Path) -> None:
    env = {**os.environ, "CREWDESK_HOME": str(prepared.home(tmp_path / "home")), "DATABASE_URL": "", "CREWDESK_WORKER_SLOTS": "1"}
    for name, text in (("plan.yaml", PLAN), ("script.yaml", SCRIPT), ("lead.yaml", LEAD)):
        (tmp_path / name).write_text(text)

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
        return done.stdout

    def look() -> dict[str, object]:
        return json.loads(run("shell", "--no-imports", "-v", "0", "-c", LOOK).strip().splitlines()[-1])

    waiting = ("--lead", str(tmp_path / "lead.yaml"), "--json", "--timeout", "120")
    run("team", "start", str(tmp_path / "plan.yaml"), "--rehearse", "--wait", *waiting)
    first = look()
    assert (first["tasks"], first["file"]) == (["completed", "completed"], ["early", "late"])
    assert first["names"][:2] == ["after T-1 Schema", "half"]

    listed = json.loads(run("checkpoint", "list", "going-back", "--json"))["checkpoints"]
    (half,) = [one["id"] for one in listed if one["name"] == "half"]
    shown = json.loads(run("checkpoint", "show", "going-back", half, "--json"))
    assert shown["words"].startswith("1 task goes back to the queue, files go back to ")
    assert (shown["files"], shown["context"]) == (
        [{"path": "page.txt", "change": "changed"}],
        [{"name": "stage", "change": "goes"}],
    )
    run("checkpoint", "restore", "going-back", half, "--at-seq", str(shown["seq"]))
    run("team", "wait", "going-back", *waiting)

    then = look()
    assert (then["tasks"], then["file"]) == (["completed", "completed"], ["early", "early", "late"])
    assert (then["shared"], then["restored"]) == ({"table": "invoice", "stage": "late"}, 1)
    (old, new) = [session for task, _, _, session in then["runs"] if task == 2]
    assert old != new
    assert (then["late"][old], then["late"][new]) == (1, 1)
