"""Elapsed time stands under, in or over its window."""

import pytest

from tasks_app.domain import elapsed
from tasks_app.domain.elapsed import Standing


@pytest.mark.parametrize(
    ("minutes", "standing", "over_s"),
    [
        (0, Standing.UNDER, 0),
        (4.99, Standing.UNDER, 0),
        (5, Standing.ON_TRACK, 0),
        (30, Standing.ON_TRACK, 0),
        (33.2, Standing.OVER, 192),
    ],
)
def test_the_default_window_is_5_to_30_minutes(minutes, standing, over_s):
    found = elapsed.read(minutes * 60)
    assert found.standing is standing
    assert found.over_s == pytest.approx(over_s)


def test_a_window_that_starts_at_nothing_is_never_under():
    assert elapsed.read(0, (0, 20)).standing is Standing.ON_TRACK


def test_a_clock_that_ran_back_counts_as_nothing():
    assert elapsed.read(-50).elapsed_s == 0


def test_the_fraction_is_of_the_windows_end():
    assert elapsed.read(900).fraction == 0.5
    assert elapsed.read(5, (0, 0)).fraction == 1
