"""What Crewdesk keeps in a task's metadata: what it writes itself is known again, anything else is named."""

import pytest

from tasks_app.domain import task_marks
from tasks_app.domain.errors import Invalid

REVIEW = {"attempt": 1, "numbers": [2], "reviewer": "rita"}
JUDGED = {**REVIEW, "verdict": "accept", "note": "", "by": "rita"}


@pytest.mark.parametrize("key", task_marks.RESERVED)
def test_a_key_of_our_own_is_refused_by_its_name(key):
    with pytest.raises(Invalid, match=key) as refused:
        task_marks.must_be_free({"area": 1, key: None})
    assert refused.value.field == f"metadata.{key}"
    task_marks.must_be_free({"area": 1, f"my_{key}": None})


@pytest.mark.parametrize(
    ("metadata", "reviews"),
    [
        ({}, False),
        ({"area": "ui", "split_of": "T-1", "split_depth": 2}, False),
        ({"review": REVIEW}, True),
        ({"review": JUDGED, "area": "ui"}, True),
    ],
)
def test_what_crewdesk_writes_is_known_again(metadata, reviews):
    assert task_marks.odd(metadata, reviews=reviews) == ()
    assert task_marks.believed(metadata, reviews=reviews) == metadata


@pytest.mark.parametrize(
    ("metadata", "reviews", "keys"),
    [
        ({"review": JUDGED}, False, ("review",)),
        ({"review": "accept"}, True, ("review",)),
        ({"review": {**REVIEW, "verdict": "accept"}}, True, ("review",)),
        ({"review": {**REVIEW, "numbers": [True]}}, True, ("review",)),
        ({"review": {**REVIEW, "more": 1}}, True, ("review",)),
        ({"split_of": "x", "split_depth": 1}, False, ("split_of", "split_depth")),
        ({"split_depth": 1}, False, ("split_depth",)),
        ({"split_of": "T-1"}, False, ("split_of",)),
        ({"split_of": "T-1", "split_depth": -50}, False, ("split_of", "split_depth")),
        ({"split_of": "T-1", "split_depth": True}, False, ("split_of", "split_depth")),
        ({"review": 1, "split_of": "x"}, False, ("review", "split_of")),
    ],
)
def test_what_it_cannot_have_written_is_named_and_not_believed(metadata, reviews, keys):
    assert task_marks.odd(metadata, reviews=reviews) == keys
    assert task_marks.believed({**metadata, "area": "ui"}, reviews=reviews) == {"area": "ui"}


@pytest.mark.parametrize("metadata", [[], "review", None, 7])
def test_metadata_that_is_no_mapping_says_nothing(metadata):
    assert task_marks.odd(metadata, reviews=True) == ()
    assert task_marks.believed(metadata, reviews=True) == {}
