"""Transient failures are tried again later, never before the reset, and do not count."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain import retry
from tasks_app.domain.statuses import Reason

NOW = datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC)


@given(st.integers(1, 100), st.text(max_size=9))
def test_delays_double_with_jitter_up_to_the_cap_and_are_the_same_for_the_same_seed(number, seed):
    delay = retry.delay_s(number, seed=seed)
    base = min(retry.CAP_S, retry.FIRST_S * 2 ** (number - 1))
    assert base * 0.7 <= delay <= min(retry.CAP_S, base * 1.3)
    assert delay == retry.delay_s(number, seed=seed)


def test_two_runs_do_not_come_back_at_the_same_moment():
    assert len({retry.delay_s(3, seed=f"run{n}") for n in range(50)}) == 50


def test_a_retry_never_starts_before_the_limit_resets():
    reset = NOW + timedelta(hours=2)
    due = retry.not_before(NOW, retries=1, seed="r", resets_at=reset.timestamp())
    assert due == reset + timedelta(seconds=retry.RESET_MARGIN_S)


@pytest.mark.parametrize(
    "resets_at", [None, 0.0, -5.0, (NOW - timedelta(hours=1)).timestamp(), (NOW + timedelta(days=400)).timestamp()]
)
def test_a_reset_that_is_past_or_absurd_is_not_waited_for(resets_at):
    assert NOW < retry.not_before(NOW, retries=1, seed="r", resets_at=resets_at) < NOW + timedelta(seconds=10)


def test_after_enough_retries_a_person_is_asked():
    assert retry.not_before(NOW, retries=retry.MAX_RETRIES, seed="r")
    assert retry.not_before(NOW, retries=retry.MAX_RETRIES + 1, seed="r") is None


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_said_to_count_or_not(reason):
    uncounted = {
        Reason.RATE_LIMITED,
        Reason.OVERLOADED,
        Reason.PARKED,
        Reason.INTERRUPTED,
        Reason.SHARE_SPENT,
        Reason.SUPERSEDED,
        Reason.STOPPED,
        Reason.BY_HAND,
    }
    assert retry.counts(reason) is (reason not in uncounted)
    assert retry.is_transient(reason) is (reason in {Reason.RATE_LIMITED, Reason.OVERLOADED})


def test_a_process_that_does_not_start_is_tried_again_at_once_and_then_later_each_time():
    assert [retry.start_pause_s(failed) for failed in range(7)] == [0, 0, 1, 2, 4, 8, 16]
