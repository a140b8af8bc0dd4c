"""Criteria in a plan file: texts, and mappings that say who proves them."""

import pytest

from tasks_app.domain import criteria, plan
from tests.domain.test_plan import parse, problems, with_task

PROVED = [
    "It works",
    {"check": "pytest -q", "seconds": 300.0},
    {"artifact": "docs/api.md"},
    {"artifact": "https://github.com/acme/billing/pull/"},
    {"judge": "lead", "text": "It reads well"},
    {"judge": "bob", "text": "It is safe"},
]


def test_each_way_to_prove_a_criterion_is_taken_and_kept_as_it_is_written():
    found = parse(with_task(criteria=PROVED))
    assert list(found.tasks[1].stored_criteria) == PROVED
    assert parse(found.dump()).tasks[1].stored_criteria == found.tasks[1].stored_criteria
    assert criteria.commands(found.tasks[1].stored_criteria) == ("pytest -q",)
    assert criteria.texts(PROVED) == (
        "It works",
        "`pytest -q` succeeds",
        "docs/api.md is there",
        "An address below https://github.com/acme/billing/pull/ is named",
        "It reads well",
        "It is safe",
    )


@pytest.mark.parametrize(
    ("criterion", "path", "words"),
    [
        ({"check": "x", "judge": "lead", "text": "y"}, "", "has both check and judge. Make two criteria of it."),
        ({"check": None}, "", "does not say how it is proved."),
        ({"Tests pass": "all of them"}, "", "Put it in quotes if it is a text with a colon."),
        ({"check": ""}, ".check", "is empty."),
        ({"check": "x", "chek": 1}, ".chek", 'Did you mean "check"?'),
        ({"check": "x" * 2001}, ".check", "at most 2000"),
        ({"check": "x", "seconds": 0}, ".seconds", "at least 1"),
        ({"check": "x", "seconds": 1801}, ".seconds", "at most 1800"),
        ({"check": "x", "seconds": "60"}, ".seconds", "must be a number"),
        ({"artifact": "a", "seconds": 5}, "", "has seconds, which only a check may have."),
        ({"judge": "lead"}, "", "Add text:"),
        ({"judge": "leed", "text": "x"}, ".judge", 'Did you mean "lead"?'),
        ({"judge": "Bob", "text": "x"}, ".judge", 'Did you mean "bob"?'),
        ({"artifact": "../x"}, "", "must be a path inside the workspace"),
        ({"artifact": "/etc/passwd"}, "", "must be a path inside the workspace"),
        ({"artifact": "~/x"}, "", "must be a path inside the workspace"),
        ({"artifact": "ftp://x/y"}, "", "must be a path inside the workspace"),
        ({"artifact": "."}, "", "must be one file or folder"),
        ({"artifact": "docs/*.md"}, "", "must be one file or folder"),
        ({"artifact": "http://127.0.0.1/x"}, "", "private network"),
        ({"artifact": "http://169.254.169.254/latest"}, "", "private network"),
        ({"artifact": "https://localhost/x"}, "", "private network"),
        ({"artifact": "https://user:pw@example.org/x"}, "", "is not an address"),
        (["x"], "", "must be a text, not a list"),
    ],
)
def test_a_bad_one_is_refused_with_the_place_and_what_to_write(criterion, path, words):
    (found,) = problems(with_task(criteria=[criterion]))
    assert found.path == f"tasks[1].criteria[0]{path}"
    assert words in str(found)
    assert found.line


def test_the_same_check_twice_is_refused():
    (found,) = problems(with_task(criteria=[{"check": "x"}, {"check": "x"}]))
    assert "repeats criteria[0]" in str(found)


def test_the_schema_for_editors_knows_all_of_them():
    schema = plan.json_schema()
    assert set(schema["$defs"]["Proof"]["properties"]) == {"check", "artifact", "judge", "text", "seconds"}
    assert "=text" not in str(schema)


def test_the_one_who_does_a_task_does_not_judge_it():
    (found,) = problems(with_task(criteria=[{"judge": "bob", "text": "x"}], assignee="bob"))
    assert '"bob" would judge its own work. Name another agent, or lead.' in str(found)


@pytest.mark.parametrize(
    ("judges", "says"),
    [
        (["@anna", "lead"], '"lead" cannot judge beside "@anna". Let one person judge a task'),
        (["@anna", "@ben"], '"@ben" cannot judge beside "@anna".'),
        (["@"], "does not say which person judges. Write the account after the @"),
        (["anna"], "A person is written as @anna."),
    ],
)
def test_one_person_judges_a_task_and_is_written_with_an_at(judges, says):
    given = [{"judge": name, "text": f"It reads well {place}"} for place, name in enumerate(judges)]
    (found,) = problems(with_task(criteria=given))
    assert says in str(found)


def test_a_person_may_judge_several_criteria_beside_an_agent():
    given = [{"judge": name, "text": f"It reads well {place}"} for place, name in enumerate(["@anna", "bob", "@anna"])]
    assert parse(with_task(criteria=given)).tasks
