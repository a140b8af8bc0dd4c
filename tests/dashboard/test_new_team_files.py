"""New team and the disk of the server: who may have it look at folders and files, and at which."""

import os
from pathlib import Path

import pytest
from django.urls import reverse

from dashboard.forms.plans import EXAMPLE
from tasks_app.management import plan_files
from tasks_app.models import Team
from tests import factories
from tests.dashboard.conftest import html_of, words_of

PLAN = """\
team: X
agents: [{name: ada, role: r}]
tasks: [{key: a, title: A page that greets, criteria: [It says hello.]}]
"""


@pytest.fixture
def check(stranger):
    """Post a plan as a person who is no administrator."""

    def send(more="", do="check", **fields):
        return stranger.post(reverse("team-create"), {"plan": PLAN + more, "do": do, "rehearsal": "1", **fields})

    return send


@pytest.fixture
def rights(db, browser_of):
    """Post a plan as an administrator."""
    browser = browser_of(factories.UserFactory(is_superuser=True))
    return lambda **fields: browser.post(reverse("team-create"), {"do": "check", "rehearsal": "1", **fields})


@pytest.mark.parametrize("more", ["workspace: /etc\n", "workspace: work\n", "rehearsal: secrets.yaml\n"])
@pytest.mark.parametrize("based", [True, False])
def test_who_is_no_administrator_has_nothing_of_the_machine_looked_at(check, tmp_path, more, based):
    (tmp_path / "secrets.yaml").write_text("stripe_live_key: abc\n")
    answer = check(more, base=str(tmp_path) if based else "")
    assert answer.status_code == 403
    assert "Only an administrator may name a" in words_of(answer)
    assert "stripe_live_key" not in html_of(answer)


def test_whether_a_folder_is_there_is_told_to_administrators_alone(check, tmp_path):
    answers = [check(base=str(tmp_path)), check(base=str(tmp_path / "none")), check(base="/root/none")]
    assert {answer.status_code for answer in answers} == {403}
    assert len({html_of(answer).count("There is no folder") for answer in answers}) == 1
    assert 'aria-describedby="error-base"' in html_of(answers[0])


def test_the_refusal_comes_before_anything_is_read(check, monkeypatch):
    monkeypatch.setattr(plan_files, "script_of", lambda *_: pytest.fail("a file was read"))
    assert check("rehearsal: zero\n", base="/dev").status_code == 403
    assert check("rehearsal: zero\n").status_code == 403


def test_a_plan_that_names_nothing_is_open_to_everybody(check):
    assert "Nothing runs before this button." in words_of(check())


def test_the_example_is_open_to_everybody_with_what_lies_beside_it(stranger):
    fields = {"plan": EXAMPLE.read_text(), "base": str(EXAMPLE.parent), "rehearsal": "1", "do": "check"}
    assert "Nothing runs before this button." in words_of(stranger.post(reverse("team-create"), fields))


@pytest.mark.parametrize(
    "more",
    [
        "workspace: ../..\n",
        "workspace: /etc\n",
        "workspace: {path: workspace, mode: in_place}\n",
        "workspace: {path: workspace, mode: git}\n",
    ],
)
def test_the_folder_of_the_example_is_no_way_to_any_other(check, more):
    answer = check(more, base=str(EXAMPLE.parent))
    assert answer.status_code == 403
    assert not Team.objects.filter(name="X").exists()


@pytest.mark.parametrize("script", ["zero", "pipe", "large", "folder"])
def test_a_script_is_read_only_where_it_is_a_small_regular_file(rights, tmp_path, script):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"#" * (2**20 + 1))
    (tmp_path / "folder").mkdir()
    base = Path("/dev") if script == "zero" else tmp_path
    answer = rights(plan=f"{PLAN}rehearsal: {script}\n", base=str(base))
    assert answer.status_code == 422
    assert "at most 1,048,576" in words_of(answer) or "cannot be read: it is" in words_of(answer)


def test_an_administrators_script_beside_the_plan_is_taken(rights, tmp_path):
    (tmp_path / "script.yaml").write_text("parts: [{turns: [{say: Hello.}]}]\n")
    answer = rights(plan=f"{PLAN}rehearsal: script.yaml\n", base=str(tmp_path))
    assert "Nothing runs before this button." in words_of(answer)
