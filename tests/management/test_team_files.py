"""`manage.py team export` and `team import`; and a team that goes on in another installation."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tasks_app.management import team_files
from tasks_app.models import Team
from tests import prepared as homes
from tests.management.commands import run, run_json
from tests.management.desks import ROOT
from tests.services.team_files import full


@pytest.fixture(autouse=True)
def prepared(monkeypatch, settings, tmp_path):
    """The database of a test is there already."""
    settings.HOME = tmp_path
    monkeypatch.setattr(team_files.prepare, "everything", lambda: None)


@pytest.mark.django_db
def test_a_team_goes_into_a_file_and_comes_back_under_another_name(tmp_path):
    full(name="Atlas", slug="atlas", workspace=str(tmp_path / "none"))
    file = tmp_path / "atlas.zip"
    code, said = run_json("team", "export", "atlas", str(file))
    assert (code, said["tasks"], said["agents"], said["workspace"]) == (0, 2, 2, False)
    assert file.stat().st_mode & 0o077 == 0
    assert run_json("team", "import", str(file))[1]["error"]["field"] == "name"
    code, said = run_json("team", "import", str(file), "--name", "Atlas two")
    assert (code, said["team"], said["status"]) == (0, "atlas-two", "paused")
    assert Team.objects.count() == 2


@pytest.mark.django_db
def test_what_cannot_be_written_or_read_is_said_with_the_file(tmp_path):
    full(name="Atlas", slug="atlas", workspace=str(tmp_path / "none"))
    there = tmp_path / "there.zip"
    there.write_text("mine")
    assert "is there already" in run("team", "export", "atlas", str(there))[2]
    assert there.read_text() == "mine"
    assert "cannot be written" in run("team", "export", "atlas", str(tmp_path / "no" / "a.zip"))[2]
    assert "cannot be read" in run("team", "import", str(tmp_path / "no.zip"))[2]
    code, _, err = run("team", "import", str(there))
    assert (code, "no zip file" in err) == (2, True)
    assert sorted(p.name for p in tmp_path.iterdir() if "part" in p.name) == []


PLAN = """
team: Journey
rehearsal: script.yaml
limits: {parallel: 1, grace_s: 0}
agents: [{name: ada, role: a}]
permissions: {allow: [Write, Bash]}
tasks:
  - {key: ask, title: Ask, criteria: [done], role: a}
  - {key: then, title: Then, criteria: [done], role: a, depends_on: [ask]}
"""
WAYS = "[{label: Left, description: l}, {label: Right, description: r}]"
QUESTION = f"{{question: Which way?, header: Way, multiSelect: false, options: {WAYS}}}"
SCRIPT = f"""
parts:
  - task: ask
    turns:
      - call: {{tool: Write, input: {{file_path: "{{workspace}}/note.txt", content: from the first desk}}}}
      - call: {{tool: AskUserQuestion, input: {{questions: [{QUESTION}]}}}}
      - either:
          - {{when: {{answer_contains: Left}}, then: [{{call: {{complete: went left}}}}]}}
          - {{then: [{{call: {{complete: lost}}}}]}}
  - task: then
    turns:
      - call: {{complete: done}}
"""
LEAD = "after: 0.2\nrules:\n  - {when: {kind: question}, answer: {choice: answer, pick: [Left]}}\n"


@pytest.mark.engine
def test_a_team_that_was_exported_midway_goes_on_on_another_desk(tmp_path: Path) -> None:
    for name, text in (("plan.yaml", PLAN), ("script.yaml", SCRIPT), ("lead.yaml", LEAD)):
        (tmp_path / name).write_text(text)

    def on(desk: str, *arguments: str) -> tuple[int, dict]:
        env = {
            **os.environ,
            "CREWDESK_HOME": str(homes.home(tmp_path / desk)),
            "DATABASE_URL": "",
            "CREWDESK_WORKER_SLOTS": "1",
        }
        words = [sys.executable, "manage.py", "team", *arguments, "--json"]
        done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=200)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    file = str(tmp_path / "journey.zip")
    code, said = on("first", "start", str(tmp_path / "plan.yaml"), "--rehearse", "--wait", "--timeout", "100")
    assert (code, said["outcome"]) == (3, "waiting"), said
    assert on("first", "export", "journey", file)[0] == 0
    shutil.rmtree(tmp_path / "first")

    code, said = on("second", "import", file)
    assert (code, said["status"]) == (0, "paused"), said
    assert (Path(said["workspace"]) / "note.txt").read_text() == "from the first desk"
    assert on("second", "resume", "journey")[0] == 0
    code, said = on("second", "wait", "journey", "--lead", str(tmp_path / "lead.yaml"), "--timeout", "100")
    assert (code, said["outcome"]) == (0, "completed"), said
    assert on("second", "export", "journey", str(tmp_path / "end.zip"))[0] == 0
    with zipfile.ZipFile(tmp_path / "end.zip") as end:
        tasks = [json.loads(line) for line in end.read("rows/tasks.jsonl").splitlines()]
        runs = [json.loads(line) for line in end.read("rows/runs.jsonl").splitlines()]
    assert [task["output"] for task in tasks] == ["went left", "done"]
    assert [run["attempt"] for run in runs] == [1, 1], "the attempt went on; it did not begin again"
