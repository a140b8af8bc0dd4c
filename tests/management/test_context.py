"""`manage.py context`."""

import pytest

from tasks_app.selectors import context as reading
from tests.factories import TaskFactory, TeamFactory
from tests.management.commands import run, run_json

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    made = TeamFactory(slug="billing", name="Billing")
    TaskFactory(team=made, number=3)
    return made


def test_a_value_is_set_listed_shown_and_deleted(team):
    assert run("context", "billing")[:2] == (0, "Nothing is shared yet.\n")
    assert run("context", "billing", "set", "port", "80")[:2] == (0, "“port” is at version 1.\n")
    assert run_json("context", "Billing", "set", "port", "81", "--at-version", "1") == (0, {"name": "port", "version": 2})
    assert "port  version 2 by lead, 2 bytes, for the team: 81" in run("context", "billing", "list")[1]
    assert run("context", "billing", "show", "port")[1].splitlines()[1] == "81"
    code, shown = run_json("context", "billing", "show", "port", "--at-version", "1")
    assert (code, shown["value"], shown["version"]) == (0, 80, 1)
    assert run("context", "billing", "delete", "port", "--at-version", "1")[0] == 2
    assert run("context", "billing", "delete", "port", "--at-version", "2")[0] == 0
    assert reading.of_team(team.pk) == []


def test_a_text_is_read_from_a_file_for_one_task_and_expires(team, tmp_path):
    (tmp_path / "notes.md").write_text("# Notes 漢\n" * 5_000, encoding="utf-8")
    words = ["--text", "--file", str(tmp_path / "notes.md"), "--task", "T-3", "--ttl", "3600"]
    assert run("context", "billing", "set", "notes", *words)[0] == 0
    (entry,) = reading.of_team(team.pk)
    assert (entry.seen_by, entry.large) == ("T-3 and what depends on it", True)
    assert reading.value(entry.pk) == "# Notes 漢\n" * 5_000
    assert "expires in 59 min" in run("context", "billing")[1]


def test_a_schema_is_set_shown_and_removed(team):
    assert run("context", "billing", "schema", "port")[1] == "No schema: any value is taken.\n"
    assert run("context", "billing", "schema", "port", '{"type": "integer"}')[0] == 0
    code, _, err = run("context", "billing", "set", "port", '"x"')
    assert (code, err.strip()) == (
        2,
        "The value does not fit the schema of “port”: value: 'x' is not of type 'integer'.",
    )
    assert run_json("context", "billing", "schema", "port", "--remove") == (0, {"name": "port", "schema": None})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope"], "There is no team “nope”"),
        (["billing", "show"], "Name the entry: uv run manage.py context billing show NAME."),
        (["billing", "show", "x"], "Nothing of the name “x” is shared."),
        (["billing", "set", "x"], "Give either the value or --file."),
        (["billing", "set", "x", "{a}"], "This is not JSON: "),
        (["billing", "set", "x", "--file", "/nowhere"], "/nowhere cannot be read: No such file"),
        (["billing", "set", "x", "--file", "/bin/true"], "The file is not text in UTF-8."),
        (["billing", "set", "x", "1", "--task", "T-9"], "There is no task T-9 in this team."),
        (["billing", "set", "x", "1", "--task", "banana"], "A task is written as T-3."),
        (["billing", "set", "x", "1", "--ttl", "-5"], "The time to live must be above 0"),
        (["billing", "schema", "x", '{"type": 5}'], "The schema cannot be registered: schema.type: "),
    ],
)
def test_what_cannot_be_done_is_said_in_words_with_exit_code_2(team, words, said):
    code, _, err = run("context", *words)
    assert code == 2
    assert said in err
