"""`manage.py team`: start from a plan, list, status, pause, resume, stop, schema."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from tasks_app.models import Task, Team
from tests.factories import DecisionFactory, RunFactory, TaskFactory, TeamFactory
from tests.management.commands import run, run_json

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.django_db
PLAN = """
team: Small
agents: [{name: ada, role: builder}]
tasks: [{title: One, criteria: [It is done]}]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)
    return path


@pytest.fixture(autouse=True)
def workspaces(settings: Any, tmp_path: Path) -> None:
    """Where workspaces go: a folder of this test."""
    settings.HOME = tmp_path / "home"


@pytest.fixture(autouse=True)
def no_preparation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test database is prepared; migrating it again in each test would only cost time."""
    monkeypatch.setattr("tasks_app.management.prepare.database", lambda: None)
    monkeypatch.setattr("django.db.connections.close_all", lambda: None)


def test_a_team_starts_and_says_that_no_worker_runs(plan: Path) -> None:
    code, out, err = run("team", "start", str(plan), "--rehearse")
    assert (code, err) == (0, "")
    assert "No worker runs yet" in out
    team = Team.objects.get()
    assert (team.slug, team.rehearsal, team.created_by.username) == ("small", True, "lead")


def test_a_start_says_how_many_hints_there_are_on_how_tasks_are_written_and_where_to_read_them(plan: Path) -> None:
    hints = len(run_json("team", "check", str(plan))[1]["findings"])
    assert hints > 1
    where = f"{hints} hints on how its tasks are written: `uv run manage.py team check {plan}`."
    assert where in run("team", "start", str(plan), "--rehearse")[1]
    assert run_json("team", "start", str(plan), "--rehearse")[1]["hints"] == hints


def test_wrong_arguments_are_one_json_document_too(plan: Path) -> None:
    manage = (sys.executable, "manage.py")
    for words, message in {
        ("team", "status", "--json"): "the following arguments are required: team",
        ("team", "wait", "small", "--timeout", "soon", "--json"): "argument --timeout: invalid float value: 'soon'",
        ("decide", "--json", "--nonsense"): "unrecognized arguments: --nonsense",
        ("team", "start", "x", "--json", "--nonsense"): "unrecognized arguments: --nonsense",
    }.items():
        done = subprocess.run([*manage, *words], capture_output=True, text=True, timeout=60, cwd=ROOT)
        error = json.loads(done.stdout)["error"]
        assert (done.returncode, error["code"], error["field"], error["message"]) == (2, "invalid", "arguments", message)
    for words in (("team", "status"), ("team", "status", "small", "--nope"), ("backup", "now", "--nope")):
        usage = subprocess.run([*manage, *words], capture_output=True, text=True, timeout=60, cwd=ROOT)
        assert (usage.returncode, usage.stdout) == (2, "")
        assert f"usage: manage.py {words[0]} {words[1]} [" in usage.stderr


def test_it_may_get_another_name(plan: Path) -> None:
    code, document = run_json("team", "start", str(plan), "--rehearse", "--name", "Second try")
    assert (code, document) == (0, {"team": "second-try", "worker": False, "hints": document["hints"]})


def test_without_a_key_real_agents_are_refused_with_the_two_ways_out(plan: Path) -> None:
    code, _, err = run("team", "start", str(plan))
    assert code == 2
    assert "--rehearse" in err
    assert "ANTHROPIC_API_KEY" in err
    assert not Team.objects.exists()


def test_a_setting_that_has_teams_rehearsed_can_be_gainsaid(plan: Path, settings: Any) -> None:
    settings.REHEARSE = True
    assert run("team", "start", str(plan))[0] == 0
    assert Team.objects.get().rehearsal
    assert run("team", "start", str(plan), "--no-rehearse")[0] == 2, "there is no key in the tests"


def test_every_error_of_a_bad_plan_is_named_and_nothing_is_made(plan: Path) -> None:
    plan.write_text("team: X\nagents: [{name: ada}]\ntasks: [{title: One, criteria: [], depends_on: [Two]}]\n")
    code, _, err = run("team", "start", str(plan), "--rehearse")
    assert code == 2
    assert len(err.strip().splitlines()) >= 4
    assert "line 2" in err
    assert "line 3" in err
    assert not Team.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such.yaml"], "cannot be read"),
        (["PLAN", "--lead", "no-such.yaml"], "cannot be read"),
        (["PLAN", "--timeout", "0"], "--timeout"),
    ],
)
def test_bad_input_is_two(plan: Path, arguments: list[str], said: str) -> None:
    code, _, err = run("team", "start", *[str(plan) if word == "PLAN" else word for word in arguments], "--rehearse")
    assert code == 2
    assert said in err


def test_a_script_that_is_not_there_or_not_beside_the_plan_is_refused(plan: Path) -> None:
    plan.write_text(PLAN + "rehearsal: missing.yaml\n")
    code, _, err = run("team", "start", str(plan), "--rehearse")
    assert code == 2
    assert "missing.yaml" in err
    (plan.parent / "away.yaml").symlink_to("/etc/hostname")
    plan.write_text(PLAN + "rehearsal: away.yaml\n")
    code, _, err = run("team", "start", str(plan), "--rehearse")
    assert code == 2
    assert "beside the plan" in err


def test_teams_are_listed_paused_resumed_and_stopped() -> None:
    team = TeamFactory(slug="billing", name="Billing")
    TaskFactory(team=team)
    assert run_json("team", "list")[1][0]["slug"] == "billing"
    for verb, status in (("pause", "paused"), ("resume", "active"), ("stop", "stopped")):
        code, document = run_json("team", verb, "billing")
        assert (code, document["team"]["status"]) == (0, status)
    code, out, _ = run("team", "status", "Billing")
    assert code == 0
    assert "T-" in out


def test_the_list_says_what_its_columns_are_and_keeps_them_however_long_a_name_is() -> None:
    TeamFactory(slug="short", name="Short", status="stopped")
    asked = RunFactory(task__team=TeamFactory(slug="long-" * 12 + "name", name="Long", rehearsal=True))
    DecisionFactory(run=asked, team=asked.task.team)
    head, *rows = run("team", "list")[1].splitlines()
    assert head.split() == ["TEAM", "STATE", "TASKS"]
    assert len(rows) == 2
    assert {row[head.index("STATE") - 1] for row in rows} == {" "}
    assert all(row[head.index("TASKS") :].startswith(("0 of 0 done", "0 of 1 done")) for row in rows)
    assert any(row.endswith("  1 waiting for you, rehearsal") for row in rows)


def test_an_unknown_team_is_named_with_what_there_is() -> None:
    assert "There is no team yet." in run("team", "status", "x")[2]
    TeamFactory(slug="billing")
    assert "Did you mean billing?" in run("team", "status", "biling")[2]


def test_the_schema_of_plan_files_is_printed() -> None:
    code, out, _ = run("team", "schema")
    schema: Any = json.loads(out)
    assert code == 0
    assert {"team", "agents", "tasks"} <= set(schema["properties"])


def test_a_team_that_has_ended_is_archived_listed_apart_and_restored() -> None:
    team = TeamFactory(slug="atlas", name="Atlas")
    task = TaskFactory(team=team, title="Ship")
    code, _, err = run("team", "archive", "atlas")
    assert (code, "Ship is not done" in err) == (2, True)
    type(task).objects.update(status="completed")
    code, out, _ = run("team", "archive", "atlas")
    assert (code, "atlas  Done, archived" in out) == (0, True)
    assert run_json("team", "list") == (0, [])
    assert "Every team is archived" in run("team", "list")[1]
    assert [row["slug"] for row in run_json("team", "list", "--archived")[1]] == ["atlas"]
    assert "atlas" in run("team", "list", "--archived")[1]
    code, document = run_json("team", "restore", "Atlas")
    assert (code, document["team"]["archived"]) == (0, False)
    assert run("team", "list", "--archived")[1].strip() == "No team is archived."


def test_a_plan_is_checked_without_starting_it(plan: Path) -> None:
    code, out, _ = run("team", "check", str(plan))
    assert (code, Team.objects.count()) == (0, 0)
    assert "plan.yaml can be started: 1 task, 1 agent. " in out
    assert "It is done” cannot be checked" in out
    _, document = run_json("team", "check", str(plan))
    assert "untestable" in {finding["code"] for finding in document["findings"]}
    plan.write_text("team: x")
    assert run("team", "check", str(plan))[0] == 2


WRONG = {
    "workspace.path: The workspace {folder}/nowhere is not a folder. Correct it, or": "workspace: nowhere",
    "workspace.path: The repository cannot be cloned: ": "workspace: {path: ., mode: git}",
    "workspace.path: The workspace {folder} contains Crewdesk's own folder": "workspace: .",
    f"workspace.path: The workspace {'x' * 300} cannot be used: File name too long.": f"workspace: {'x' * 300}",
    "rehearsal: The script {folder}/gone.yaml cannot be read: No such file or directory. Correct it, or": "rehearsal: gone.yaml",
    "rehearsal: In the script, line 2: parts[0]: `turns` is missing.": "rehearsal: script.yaml",
    "limits.sandbox: This machine cannot run a sandbox: bwrap": "limits: {sandbox: true}",
    'tasks[0].criteria[0].judge: Nobody has the account "nora". Known: lead.': "",
}


@pytest.mark.parametrize(("said", "written"), WRONG.items())
@pytest.mark.parametrize("verb", ["check", "start"])
def test_what_a_plan_needs_of_this_machine_is_told_with_its_mistakes_at_once(
    plan: Path, monkeypatch: pytest.MonkeyPatch, settings: Any, verb: str, said: str, written: str
) -> None:
    """M4: neither finds more than the other, and the rule is named in the same round."""
    if "sandbox" in said:
        monkeypatch.setattr("tasks_app.services.workspaces.shutil.which", lambda _: None)
    (plan.parent / "script.yaml").write_text("parts:\n  - {}\n")
    judged = "[{judge: '@nora', text: It is fine}]" if "nora" in said else "[It is done]"
    text = PLAN.strip().replace("[It is done]", judged)
    plan.write_text(f"{written}\n{text}\npermissions: {{allow: ['Bash((']}}\n")
    line = 4 if "nora" in said else 1
    code, out, err = run("team", verb, str(plan), *(["--rehearse"] if verb == "start" else []))
    assert (code, out, err.splitlines()[0]) == (2, "", "plan.yaml has 2 problems.")
    assert f"line {line}: {said.format(folder=plan.parent)}" in err
    assert "line 5: permissions.allow[0]: 'Bash((' is not a permission rule." in err
    plan.write_text(f"{written}\n{text}\n")
    alone = run("team", "check", str(plan))
    assert (alone[0], alone[2].startswith(f"plan.yaml: line {line}: ")) == (2, True)
    assert not Team.objects.exists()


def test_how_a_team_does_is_said_in_words_and_as_json() -> None:
    team = TeamFactory(slug="small", name="Small")
    code, out, _ = run("team", "how-it-goes", "small")
    assert (code, "Within their window      not known yet" in out, "Day" in out) == (0, True, False)
    done, now = RunFactory(task__team=team, agent__team=team, ended=True, worked_s=60), timezone.now()
    _, out, _ = run("team", "how-it-goes", "small")
    assert "Clarifications mid-task  0   " in out, "no task is done, so nothing is said of done tasks"
    Task.objects.update(status="completed", completed_at=now, completed_by=done.agent.name)
    DecisionFactory(run=done, kind="question", answered=True, opened_at=now - timedelta(minutes=1), answered_at=now)
    _, out, _ = run("team", "how-it-goes", "small")
    assert "Within their window      0 % (0 of 1; 1 short, 0 over)" in out
    assert "Clarifications mid-task  1, in 1 done tasks" in out
    assert "Human wait               1 min (median), 1 min at most; 1 answered" in out
    assert "Day         Done" in out
    _, found = run_json("team", "how-it-goes", "small")
    assert (found["team"], found["short"], found["clean_percent"], found["messages_typical"]) == ("small", 1, None, 0)


def test_a_team_is_deleted_by_its_name_typed_again() -> None:
    TeamFactory(name="Old one", slug="old-one")
    code, _, err = run("team", "delete", "old-one", "--yes-i-mean", "other")
    assert (code, Team.objects.count()) == (2, 1)
    assert "Type “Old one” to delete it with its history." in err
    assert run_json("team", "delete", "old-one", "--yes-i-mean", "Old one") == (0, {"deleted": "Old one"})
    assert not Team.objects.exists()
