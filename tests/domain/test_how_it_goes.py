"""How a team does: the figures that follow from what is counted, and what is not known."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.elapsed import Standing
from tasks_app.domain.how_it_goes import (
    Begun,
    Done,
    Facts,
    HandOff,
    Happened,
    Tokens,
    Wait,
    coordinates,
    figures,
    percent,
)

MONDAY, TUESDAY = dt.date(2026, 11, 2), dt.date(2026, 11, 3)


def test_of_nothing_nothing_is_known():
    found = figures(Facts())
    unknown = ("asked", "asked_tasks", "reopened", "reassigned", "messages", "messages_typical", "tokens", "wait_typical_s")
    assert {name: getattr(found, name) for name in unknown} == dict.fromkeys(unknown)
    assert (found.within_percent, found.coordination_percent, found.clean_percent) == (None, None, None)


def test_once_an_attempt_has_begun_what_did_not_happen_is_a_true_zero():
    found = figures(Facts(begun=[Begun(MONDAY, again_by_another=False)]))
    assert (found.asked, found.reopened, found.reassigned, found.messages) == (0, 0, 0, 0)
    assert (found.messages_typical, found.wait_typical_s) == (None, None)


def test_one_long_wait_does_not_move_what_is_typical():
    found = figures(Facts(waits=[Wait(MONDAY, s) for s in (10, 20, 50_000)]))
    assert (found.wait_typical_s, found.wait_longest_s, found.answered) == (20, 50_000, 3)


def test_a_task_whose_time_was_not_measured_is_done_and_not_within():
    done = [Done(MONDAY, standing, 0, told) for standing, told in ((Standing.ON_TRACK, 0), (Standing.OVER, 1), (None, 9))]
    found = figures(Facts(done=done))
    assert (found.done, found.timed, found.within_percent, found.messages_typical) == (3, 2, 50, 1)


def test_what_was_reopened_is_unknown_where_the_log_has_aged_out():
    facts = Facts(begun=[Begun(MONDAY, again_by_another=True)], reopened=[Happened(TUESDAY)], log_from=TUESDAY)
    assert figures(facts).reopened is None
    by_day = facts.by_day()
    assert list(by_day) == [TUESDAY, MONDAY]
    assert figures(by_day[MONDAY], day=MONDAY).reopened is None
    assert figures(by_day[TUESDAY], day=TUESDAY).reopened == 1
    assert figures(facts).reassigned == 1


@pytest.mark.parametrize(
    ("tool", "counts"),
    [("mcp__crew__SendMessage", True), ("AskUserQuestion", True), ("mcp__crew__TaskUpdate", False), ("Bash", False), ("", False)],
)
def test_only_tools_that_agree_with_others_are_coordination(tool, counts):
    assert coordinates(tool) is counts


days = st.sampled_from([MONDAY, TUESDAY])


@given(
    st.lists(st.builds(Done, days, st.sampled_from([None, *Standing]), st.integers(0, 3), st.integers(0, 9))),
    st.lists(st.builds(HandOff, days, st.booleans())),
    st.lists(st.builds(Tokens, days, st.integers(1, 10**9), st.just(0))),
)
def test_days_add_up_to_the_whole(done, hand_offs, tokens):
    facts = Facts(done=done, hand_offs=hand_offs, tokens=tokens)
    whole, parts = figures(facts), [figures(part, day=day) for day, part in facts.by_day().items()]
    for name in ("done", "timed", "short", "within", "over", "handed_over", "clean"):
        assert getattr(whole, name) == sum(getattr(part, name) for part in parts)
    assert (whole.tokens or 0) == sum(part.tokens or 0 for part in parts)
    assert whole.timed == whole.short + whole.within + whole.over


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_share_is_whole_percent_of_what_there_is(part, more):
    assert 0 <= percent(part, part + more) <= 100
    assert percent(part, 0) is None
