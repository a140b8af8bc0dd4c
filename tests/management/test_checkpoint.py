"""`manage.py checkpoint`."""

import pytest

from tasks_app.models import Task, Team
from tasks_app.services import actions
from tests.factories import TaskFactory, TeamFactory
from tests.management.commands import run, run_json

pytestmark = pytest.mark.django_db


@pytest.fixture
def team(tmp_path, settings):
    settings.HOME = tmp_path / "home"
    (tmp_path / "work").mkdir()
    made = TeamFactory(slug="billing", name="Billing", workspace=str(tmp_path / "work"))
    TaskFactory(team=made, number=1, title="Schema")
    return made


def test_one_is_saved_listed_looked_at_restored_and_deleted(team):
    assert run("checkpoint", "list", "billing")[:2] == (0, "No checkpoint is saved yet.\n")
    code, saved = run_json("checkpoint", "save", "billing", "start")
    assert (code, saved["name"]) == (0, "start")
    Task.objects.update(status="completed")
    actions.pause_team(team.pk, actor="user:lead")
    code, listed = run_json("checkpoint", "list", "billing")
    assert listed["checkpoints"][-1]["words"].startswith("1 task goes back to the queue, files go back to ")
    shown = run("checkpoint", "show", "Billing", saved["id"])[1]
    seq = Team.objects.get().last_seq
    assert "  T-1 Schema goes back to the queue" in shown
    assert f"uv run manage.py checkpoint restore billing {saved['id']} --at-seq {seq}" in shown
    code, _, err = run("checkpoint", "restore", "billing", saved["id"], "--at-seq", str(seq - 1))
    assert (code, "has moved on since you looked" in err) == (2, True)
    assert "Restored “start”" in run("checkpoint", "restore", "billing", saved["id"], "--at-seq", str(seq))[1]
    assert Task.objects.get().status == "pending"
    assert run("checkpoint", "delete", "billing", saved["id"])[:2] == (0, "“start” is deleted.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list", "nope"], "There is no team “nope”"),
        (["save", "billing"], "The checkpoint needs a name."),
        (["show", "billing"], "Name the checkpoint: uv run manage.py checkpoint show billing ID."),
        (["show", "billing", "k00000000"], "This team has no such checkpoint"),
        (["restore", "billing", "k00000000"], "Look at what would change first"),
        (["restore", "billing", "k00000000", "--at-seq", "1", "--task", "x"], "A task is written as T-3."),
    ],
)
def test_what_cannot_be_done_is_said_in_words_with_exit_code_2(team, words, said):
    code, _, err = run("checkpoint", *words)
    assert code == 2
    assert said in err
