"""Context per cent is of the last main response, unknown when it is unknown (case N31)."""

import pytest

from tasks_app.domain import context
from tasks_app.domain.context import Level

LAST = context.tokens(input_tokens=3, cache_creation_tokens=9284, cache_read_tokens=190_713)


@pytest.mark.parametrize(
    ("used", "level"),
    [
        (0, Level.OK),
        (159_999, Level.OK),
        (160_000, Level.WARN),
        (179_999, Level.WARN),
        (180_000, Level.CRITICAL),
        (200_000, Level.CRITICAL),
    ],
)
def test_80_per_cent_warns_and_90_is_critical(used, level):
    assert context.usage(used, 200_000).level is level


def test_more_than_the_window_is_flagged_and_the_bar_stays_full():
    over = context.usage(230_000, 200_000)
    assert (over.percent, over.over, over.bar, over.level) == (115, True, 100, Level.CRITICAL)
    assert not context.usage(200_000, 200_000).over


@pytest.mark.parametrize(("used", "window"), [(None, 200_000), (5, None), (5, 0), (-1, 200_000)])
def test_what_is_not_known_is_unknown_and_not_zero(used, window):
    assert context.usage(used, window) == context.UNKNOWN
