"""Spans are said in words that nobody takes for a time of day."""

import pytest

from tasks_app.domain.spans import span


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (607, "10 min 7 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h"),
        (7505, "2 h 5 min"),
        (86_399, "23 h 59 min"),
        (86_400, "1 day"),
        (3 * 86_400 + 4 * 3600 + 59, "3 days 4 h"),
    ],
)
def test_a_span_has_its_two_largest_units(seconds, text):
    assert span(seconds) == text
