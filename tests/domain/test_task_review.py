"""The reviewer of task design: each finding on a poor task, none on a good one, and never a crash."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.task_review import EXAMPLES, Code, Written, files_in, review

GOOD = Written(
    "login-lock",
    "Lock an account for 15 minutes after 5 wrong passwords",
    "Count wrong passwords in accounts/login.py with django-axes; leave accounts/models.py alone.",
    ("The sixth wrong password answers 429", "`pytest tests/test_login.py` passes"),
    (10, 25),
)


def changed(**words):
    return Written(
        **{**{name: getattr(GOOD, name) for name in ("label", "title", "description", "criteria", "minutes")}, **words}
    )


def codes(*tasks, agents=3):
    return [finding.code for finding in review(tasks, agents=agents)]


def test_a_good_task_is_left_alone():
    assert review([GOOD]) == ()


@pytest.mark.parametrize(
    ("words", "code", "path"),
    [
        ({"title": "Fix bugs"}, Code.VAGUE_TITLE, "tasks[0].title"),
        ({"title": "Improve the code and update the docs"}, Code.VAGUE_TITLE, "tasks[0].title"),
        ({"title": EXAMPLES[Code.VAGUE_TITLE].poor}, Code.VAGUE_TITLE, "tasks[0].title"),
        ({"title": "Refactor billing"}, Code.VAGUE_TITLE, "tasks[0].title"),
        ({"description": "  "}, Code.NO_DESCRIPTION, "tasks[0].description"),
        ({"criteria": ()}, Code.NO_CRITERIA, "tasks[0].criteria"),
        ({"criteria": (GOOD.criteria[0], "It works well")}, Code.UNTESTABLE, "tasks[0].criteria[1]"),
        ({"criteria": ("The code is clean and readable",)}, Code.UNTESTABLE, "tasks[0].criteria[0]"),
        ({"description": "Use a cache in a/b.py, e.g. Redis or similar."}, Code.OPEN_DECISION, "tasks[0].description"),
        ({"description": "Lock it in a/b.py. Should admins be exempt?"}, Code.OPEN_DECISION, "tasks[0].description"),
        ({"minutes": (60, 90)}, Code.TOO_LARGE, "tasks[0].expected_minutes"),
        ({"criteria": tuple(f"GET /{n} answers 200" for n in range(9))}, Code.TOO_LARGE, "tasks[0].criteria"),
        ({"minutes": (0, 2)}, Code.TOO_SMALL, "tasks[0].expected_minutes"),
    ],
)
def test_each_weakness_is_found_where_it_is(words, code, path):
    (finding,) = review([changed(**words)])
    assert (finding.code, finding.path, finding.label) == (code, path, "login-lock")
    assert finding.says
    assert finding.write
    assert finding.example == EXAMPLES[code]


@pytest.mark.parametrize(
    "title", ["Improve login speed under load", "Fix the export", "Clean login.py of dead code", "Lay out docs/"]
)
def test_a_title_that_says_what_and_where_is_left_alone(title):
    assert review([changed(title=title)]) == ()


def test_a_task_that_names_nothing_is_told_to_name_files_and_interfaces():
    vague = Written("export", "Export dates as text", "Dates must come out as text.", ("The export shows 2026-01-31",))
    assert codes(vague) == [Code.NO_NAMES]


@pytest.mark.parametrize("text", ["Change reports/export.py.", "Use `render`.", "Call export_csv().", "See https://a.example/x"])
def test_a_file_a_name_or_an_address_is_enough(text):
    assert codes(Written("export", "Export dates as text", text, ("The export shows 2026-01-31",))) == []


def test_two_tasks_in_one_file_are_named_unless_one_waits_for_the_other():
    first, second = changed(label="one"), changed(label="two")
    (finding,) = review([first, second], agents=2)
    assert (finding.code, finding.label) == (Code.HIDDEN_DEPENDENCY, "two")
    assert "accounts/login.py" in finding.says
    assert "depends_on: [one]" in finding.write
    assert codes(first, changed(label="two", needs=(0,))) == []


def test_a_hundred_tasks_in_one_file_are_a_hundred_hints_and_not_five_thousand():
    assert len(review([changed(label=f"t{n}") for n in range(101)], agents=2)) == 100


def test_a_chain_that_keeps_agents_idle_is_named_once_and_only_for_more_than_one_agent():
    chain = [changed(label=f"t{n}", description=f"Write part{n}.py", needs=(n - 1,) if n else ()) for n in range(5)]
    assert codes(*chain, agents=4) == [Code.WASTEFUL_CHAIN]
    assert codes(*chain, agents=1) == []
    wide = [changed(label=f"t{n}", description=f"Write part{n}.py", needs=(0,) if n else ()) for n in range(5)]
    assert codes(*wide, agents=4) == []


def test_files_are_told_from_abbreviations_numbers_and_addresses():
    text = "In billing/page.py, docs/ and README.md (e.g. 3.5 or and/or https://example.org/a.html), v1.2.3."
    assert files_in(text) == {"billing/page.py", "docs/", "README.md"}


def test_every_code_has_a_poor_and_a_good_example():
    assert set(EXAMPLES) == set(Code)
    for code, example in EXAMPLES.items():
        assert example.poor != example.good, code


TEXT = st.text(max_size=60)


@given(st.lists(st.tuples(TEXT, TEXT, st.lists(TEXT, max_size=3)), max_size=6), st.integers(1, 9))
def test_whatever_is_written_is_reviewed(rows, agents):
    tasks = [
        Written(str(n), title, text, tuple(criteria), None, tuple(range(n))) for n, (title, text, criteria) in enumerate(rows)
    ]
    for finding in review(tasks, agents=agents):
        assert finding.path.startswith("tasks[")


def test_every_code_is_documented_with_the_very_examples_that_a_person_is_shown():
    lines = (Path(__file__).parents[2] / "docs/good-tasks.md").read_text().splitlines()
    rows = {line.split("`")[1]: line for line in lines if line.startswith("| `")}
    assert set(rows) == set(Code)
    assert [code for code, one in EXAMPLES.items() if not rows[code].endswith(f"| {one.poor} | {one.good} |")] == []
