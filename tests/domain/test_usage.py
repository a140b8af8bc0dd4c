"""Tokens are counted once per message and cost once per process, whatever is replayed (case N29)."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain import usage
from tasks_app.domain.usage import Row, Tokens


def rows_of(message, *outputs, subagent=""):
    return [Row(message, Tokens(3, 9284, 63_347, output), subagent) for output in outputs]


def test_three_rows_of_one_message_seen_twice_count_once():
    rows = rows_of("msg_1", 8, 8, 212)
    counted = usage.count([*rows, *rows, *rows_of("msg_2", 5, subagent="toolu_1")])
    assert counted.main == Tokens(3, 9284, 63_347, 212)
    assert counted.subagents == {"toolu_1": Tokens(3, 9284, 63_347, 5)}
    assert counted.all.total == 2 * (3 + 9284 + 63_347) + 212 + 5


def test_merging_row_by_row_adds_only_what_is_new():
    known, added = usage.merge(None, Tokens(3, 1, 2, 8))
    assert added == Tokens(3, 1, 2, 8)
    known, added = usage.merge(known, Tokens(3, 1, 2, 8))
    assert added == Tokens()
    known, added = usage.merge(known, Tokens(3, 1, 2, 212))
    assert (known, added) == (Tokens(3, 1, 2, 212), Tokens(output=204))


def test_rows_without_an_id_count_by_themselves():
    assert usage.count([Row("", Tokens(1)), Row("", Tokens(1))]).main == Tokens(2)


ROWS = st.lists(st.builds(Row, st.sampled_from("abc"), st.builds(Tokens, *[st.integers(0, 9)] * 4)), max_size=12)


@given(ROWS, st.randoms())
def test_order_and_repetition_change_nothing(rows, random):
    shuffled = [*rows, *rows]
    random.shuffle(shuffled)
    assert usage.count(shuffled) == usage.count(rows)


@given(ROWS)
def test_adding_up_what_merge_says_gives_the_same_sum(rows):
    known: dict[str, Tokens] = {}
    total = Tokens()
    for row in rows:
        known[row.message_id], added = usage.merge(known.get(row.message_id), row.tokens)
        total += added
    assert total == usage.count(rows).main


def test_cost_is_cumulative_per_process_and_starts_again_with_a_new_one():
    assert usage.total_cost([("p1", 0.10), ("p1", 0.25), ("p2", 0.05), ("p1", 0.25), ("p2", 0.02)]) == pytest.approx(0.30)


def test_cost_that_was_never_reported_is_unknown():
    assert usage.total_cost([]) is None
    assert usage.total_cost([("p", math.nan), ("p", -1.0)]) is None
    assert usage.total_cost([("p", 0.0)]) == 0.0


@pytest.mark.parametrize(
    ("before", "report", "added"),
    [(None, 0.5, 0.5), (0.5, 0.7, 0.2), (0.5, 0.2, 0.0), (0.5, math.nan, 0.0), (0.5, math.inf, 0.0), (None, -1, 0.0)],
)
def test_a_report_adds_only_what_goes_beyond_the_last_one(before, report, added):
    assert usage.cost_added(before, report) == pytest.approx(added)


@given(st.permutations([("a", 1.0), ("a", 2.0), ("b", 0.5), ("b", 0.25)]))
def test_cost_does_not_depend_on_the_order_of_reports(reports):
    assert usage.total_cost(itertools.chain(reports, reports)) == 2.5
