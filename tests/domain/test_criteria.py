"""Criteria are read from lists and texts, and each needs evidence."""

import pytest

from tasks_app.domain import criteria
from tasks_app.domain.errors import Invalid

TWO = ["Tests pass.", "Docs  say how"]


def missing(evidence):
    return [one.criterion.number for one in criteria.unmet(TWO, evidence, {})]


@pytest.mark.parametrize(
    ("evidence", "numbers"),
    [
        ({}, [1, 2]),
        ({"1": "ran pytest", "2": "README"}, []),
        ({"#1": "x", "2.": "y"}, []),
        ({"criterion 1": "x"}, [2]),
        ({"tests PASS": "x", "docs say how.": "y"}, []),
        ({"- Tests pass.": "x"}, [2]),
        ({"1": "  ", "2": "\0"}, [1, 2]),
        ({"1": None, "2": []}, [1, 2]),
        ({"3": "x", "other": "y"}, [1, 2]),
        ({1: "x", 2: 0}, []),
    ],
)
def test_evidence_is_found_by_number_or_text_and_blank_is_none(evidence, numbers):
    assert missing(evidence) == numbers


def test_a_text_is_read_line_by_line_without_its_bullets():
    assert criteria.parse("- one\n\n* [ ] two\n 3. three\nfour  five") == ("one", "two", "three", "four five")
    assert criteria.parse("") == ()


def test_every_bad_criterion_is_named_at_once():
    with pytest.raises(Invalid) as caught:
        criteria.parse(["ok", " ", "OK.", "x" * 1001])
    assert [problem.path for problem in caught.value.problems] == ["criteria[1]", "criteria[2]", "criteria[3]"]


def test_there_is_a_most_criteria_a_task_may_have():
    with pytest.raises(Invalid, match="cannot be taken"):
        criteria.parse([str(n) for n in range(criteria.MAX_CRITERIA + 1)])
