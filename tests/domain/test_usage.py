"""Tokens are counted once per message and cost once per process, whatever is replayed (case N29)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain import usage
from tasks_app.domain.usage import Tokens

TOKENS = st.builds(Tokens, *[st.integers(0, 9)] * 4)


def counted(rows):
    """The sum of what each row of a message adds, and what the message counts as at the end."""
    known, total = None, Tokens()
    for row in rows:
        known, added = usage.merge(known, row)
        total += added
    return known, total


def test_merging_row_by_row_adds_only_what_is_new():
    known, added = usage.merge(None, Tokens(3, 1, 2, 8))
    assert added == Tokens(3, 1, 2, 8)
    known, added = usage.merge(known, Tokens(3, 1, 2, 8))
    assert added == Tokens()
    known, added = usage.merge(known, Tokens(3, 1, 2, 212))
    assert (known, added) == (Tokens(3, 1, 2, 212), Tokens(output=204))


@given(st.lists(TOKENS, min_size=1, max_size=8), st.randoms())
def test_the_order_and_repetition_of_a_messages_rows_change_nothing(rows, random):
    shuffled = [*rows, *rows]
    random.shuffle(shuffled)
    known, total = counted(shuffled)
    assert known == total == counted(rows)[1]


@pytest.mark.parametrize(
    ("before", "report", "added"),
    [(None, 0.5, 0.5), (0.5, 0.7, 0.2), (0.5, 0.2, 0.0), (0.5, math.nan, 0.0), (0.5, math.inf, 0.0), (None, -1, 0.0)],
)
def test_a_report_adds_only_what_goes_beyond_the_last_one(before, report, added):
    assert usage.cost_added(before, report) == pytest.approx(added)


@given(st.permutations([1.0, 2.0, 0.5, 1.0]))
def test_what_a_process_has_cost_does_not_depend_on_the_order_of_its_reports(reports):
    so_far = 0.0
    for report in reports:
        so_far += usage.cost_added(so_far, report)
    assert so_far == 2.0
