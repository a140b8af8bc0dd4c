"""Estimates: the starting table, what is learned, totals, room in a context, and the pace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.estimate import (
    CREATION_TOKENS,
    ENOUGH,
    STARTING,
    Course,
    Finished,
    Kind,
    Room,
    Size,
    Spread,
    estimate,
    expected_minutes_of,
    on_pace_for,
    room,
    size_of,
    spread,
    total,
)

BUILDER = Kind("agent", Size.MEDIUM, "builder", "sonnet")
WINDOW = (5.0, 30.0)


def finished(kind=BUILDER, *, n=ENOUGH, tokens=100_000, usd=0.5):
    return [Finished(kind, tokens + 1000 * k, 10 + k, usd, 150_000) for k in range(n)]


@pytest.mark.parametrize(
    ("minutes", "size"), [(5, Size.SMALL), (10, Size.SMALL), (10.5, Size.MEDIUM), (30, Size.MEDIUM), (31, Size.LARGE)]
)
def test_size_goes_by_the_expected_minutes(minutes, size):
    assert size_of(minutes) is size


def test_before_anything_is_known_the_table_speaks_and_says_so():
    found = estimate(BUILDER, finished(n=ENOUGH - 1), expected_min=WINDOW)
    assert (found.tokens, found.attempts, found.usd, found.context) == (STARTING[Size.MEDIUM], 0, None, None)
    assert (found.minutes, found.basis) == (Spread(5, 17.5, 30), "starting table, medium task")


def test_enough_finished_attempts_of_the_same_kind_outweigh_it():
    found = estimate(BUILDER, finished(), expected_min=WINDOW)
    assert (found.tokens, found.usd) == (Spread(101_000, 102_000, 103_000), Spread(0.5, 0.5, 0.5))
    assert (found.attempts, found.basis) == (5, "5 finished medium tasks by builder with sonnet")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Kind("agent", Size.MEDIUM, "tester", "sonnet"), "5 finished medium tasks with sonnet"),
        (Kind("agent", Size.MEDIUM, "builder", "haiku"), "5 finished medium tasks by builder"),
        (Kind("agent", Size.MEDIUM, "tester", "haiku"), "5 finished medium tasks"),
        (Kind("agent", Size.LARGE, "builder", "sonnet"), "starting table, medium task"),
        (Kind("shell", Size.MEDIUM, "builder", "sonnet"), "starting table, medium task"),
    ],
)
def test_else_the_closest_kind_that_has_enough_but_never_another_type_or_size(other, words):
    assert estimate(BUILDER, finished(other), expected_min=WINDOW).basis == words


def test_one_wild_attempt_does_not_move_the_middle():
    rows = [*finished(), Finished(BUILDER, 50_000_000, 900, 99.0)]
    assert estimate(BUILDER, rows, expected_min=WINDOW).tokens.typical < 110_000


def test_a_total_adds_tasks_and_their_creation_and_says_what_is_known_of_cost():
    known = estimate(BUILDER, finished(), expected_min=WINDOW)
    guessed = estimate(Kind("agent", Size.SMALL), [], expected_min=(1, 5))
    found = total([known, guessed])
    assert found.tokens.typical == 102_000 + 3_500 + 2 * CREATION_TOKENS
    assert (found.usd, found.usd_known, found.tasks, found.learned) == (Spread(0.5, 0.5, 0.5), 1, 2, 1)
    assert total([guessed]).usd is None


def test_whether_a_task_fits_a_context_counts_up_to_where_the_session_is_full():
    needs = Spread(100_000, 140_000, 180_000)
    assert room(needs, used=100_000, window=200_000) == Room(140_000, 60_000, fits=False)
    assert room(needs, used=10_000, window=200_000) == Room(140_000, 150_000, fits=True)
    assert room(needs, used=None, window=200_000) is None
    assert room(None, used=1, window=200_000) is None


def test_how_full_a_context_becomes_is_learned_from_enough_attempts_or_not_at_all():
    known = estimate(BUILDER, finished(), expected_min=WINDOW)
    assert known.context == Spread(150_000, 150_000, 150_000)
    few = [*finished(n=ENOUGH - 1), Finished(BUILDER, 1, 1.0)]
    assert estimate(BUILDER, few, expected_min=WINDOW).context is None


@given(st.floats(0, 10_000))
def test_the_minutes_of_a_size_are_those_that_make_it(minutes):
    above, upto = expected_minutes_of(size_of(minutes))
    assert above < minutes
    assert upto is None or minutes <= upto


def test_the_pace_scales_what_is_open_by_how_the_done_ones_did():
    assert on_pace_for(20.0, done=[10.0], open_=[5.0, 5.0]) == 40.0
    assert on_pace_for(20.0, done=[], open_=[5.0]) is None
    assert on_pace_for(0.0, done=[10.0], open_=[5.0]) is None


def test_a_team_is_on_pace_for_what_it_spent_and_what_is_open_scaled_in_any_unit():
    course = Course(done=(10.0,), open=(10.0, 20.0), done_usd=2.0, done_tokens=100, cancelled_usd=1.0, cancelled_tokens=50)
    assert (course.total_usd(4.0), course.total_tokens(170)) == (9.0, 450.0)
    assert course.total_usd(99.0) == 99.0
    assert Course(open=(10.0,)).total_usd(4.0) is None


@given(st.lists(st.floats(1, 1e6), min_size=1), st.lists(st.floats(1, 1e6)), st.floats(0.01, 1e6), st.floats(0, 1e6))
def test_the_forecast_is_never_below_what_is_spent(done, open_, on_done, extra):
    spent = on_done + extra
    total = Course(done=tuple(done), open=tuple(open_), done_usd=on_done).total_usd(spent)
    assert total is not None
    assert total >= spent


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=30))
def test_a_spread_is_in_order_and_within_what_was_seen(values):
    found = spread(values)
    assert found is not None
    assert min(values) <= found.low <= found.typical <= found.high <= max(values)
