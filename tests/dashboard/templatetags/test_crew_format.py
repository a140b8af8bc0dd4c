"""Numbers and times are written exactly as the style of the pages says."""

import datetime as dt
import re
from decimal import Decimal

import pytest
import time_machine
from django.utils import timezone

from dashboard.templatetags import crew_format as form
from dashboard.templatetags import crew_parts as parts
from tasks_app.selectors.states import ContextUse
from tasks_app.selectors.worktime import Worktime

NOON = dt.datetime(2026, 11, 27, 12, 0, tzinfo=dt.UTC)


def plain(html: object) -> str:
    return re.sub(r"<[^>]+>", "", str(html))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "tokens not reported"),
        (0, "0"),
        (999, "999"),
        (1_000, "1 k"),
        (412_345, "412 k"),
        (999_499, "999 k"),
        (999_500, "1.00 M"),
        (1_840_000, "1.84 M"),
    ],
)
def test_tokens(value, text):
    assert form.tokens(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "cost not reported"),
        ("", "cost not reported"),
        (Decimal("4.62"), "$4.62"),
        (Decimal("0.009999"), "<$0.01"),
        (Decimal("0.01"), "$0.01"),
        (Decimal(0), "$0.00"),
        ("1204", "$1,204.00"),
    ],
)
def test_cost_is_never_zero_for_what_is_unknown(value, text):
    assert form.usd(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("5.0000"), "5"),
        (Decimal("50.0000"), "50"),
        (Decimal("4.5000"), "4.50"),
        (Decimal("0.0125"), "0.0125"),
        (20.0, "20"),
        (None, ""),
        ("", ""),
    ],
)
def test_an_amount_in_a_field_has_no_needless_decimals(value, text):
    assert form.amount(value) == text


def test_budgets_and_forecasts_leave_needless_cents_out():
    assert [form.usd_short(value) for value in (Decimal(60), Decimal("4.50"), None)] == ["$60", "$4.50", "no budget"]
    assert [form.usd_whole(value) for value in (Decimal("57.6"), Decimal("4.5"), None)] == ["$58", "$4.50", "unknown"]


@pytest.mark.parametrize(
    ("tokens", "text", "css"),
    [
        (126_000, "63%", ""),
        (159_998, "80%", ""),
        (160_000, "80% · warn", "warn"),
        (162_000, "81% · warn", "warn"),
        (184_000, "92% · critical", "crit"),
        (200_000, "100% · critical", "crit"),
        (240_000, ">100% · critical", "crit"),
        (None, "context not reported", ""),
    ],
)
def test_context_says_its_percentage_and_what_it_asks_for(tokens, text, css):
    use = ContextUse(tokens, 200_000)
    assert form.context_text(use) == text
    assert form.context_level(use) == css


def test_context_after_a_compaction_is_unknown_then_news():
    assert form.context_text(ContextUse(None, 200_000, timezone.now())) == "context not reported · compacted"
    assert form.context_compacted(ContextUse(48_000, 200_000, timezone.now()))
    assert not form.context_compacted(ContextUse(48_000, 200_000, timezone.now() - dt.timedelta(hours=1)))
    assert form.context_text(None) == "context not reported"


def test_a_span_of_what_is_unknown_is_a_dash():
    assert (form.span(None), form.span("x"), form.span(607)) == ("–", "–", "10 min 7 s")


@time_machine.travel(NOON, tick=False)
def test_an_age_carries_its_moment_so_that_the_page_can_tick():
    html = str(form.ago(NOON - dt.timedelta(seconds=252)))
    assert '<time class="n" datetime="2026-11-27T11:55:48+00:00"' in html
    assert 'data-since="2026-11-27T11:55:48+00:00"' in html
    assert plain(html) == "4 min 12 s"
    assert plain(form.left(NOON + dt.timedelta(seconds=348))) == "5 min 48 s"
    assert "data-until" in str(form.left(NOON))
    assert [form.ago(None), form.ago(""), form.at("")] == ["–"] * 3


@pytest.mark.parametrize(
    ("worked_s", "state", "text"),
    [
        (27 * 60 + 42, "open", "27 min 42 s of 5–30 min"),
        (33 * 60 + 12, "open", "33 min 12 s · over by 3 min 12 s"),
        (60, "open", "1 min of 5–30 min"),
        (130, "ended", "2 min 10 s · short, check result"),
        (30 * 60, "ended", "30 min of 5–30 min"),
    ],
)
def test_working_time_stands_against_its_window(worked_s, state, text):
    assert plain(parts.working(Worktime(worked_s), 5, 30, state)) == text


@pytest.mark.parametrize(
    ("value", "words"),
    [("0.0004", "at least $0.001"), ("0.004", "at least $0.004"), ("0.05", "at least $0.05"), ("0", "at least $0.00")],
)
def test_the_least_that_something_cost_is_said_below_a_cent_too(value, words):
    assert form.cost(Decimal(value), True) == words
    assert form.cost_short(Decimal(value), True) == words.replace("at least", "≥")


def test_working_time_that_is_drawn_again_within_its_second_is_the_same():
    """As it is read again a moment later, by another clock that is some milliseconds off."""
    drawn = set()
    for later_s, off_s in ((0.0, 0.0), (0.1, 0.004), (0.25, -0.003)):
        with time_machine.travel(NOON + dt.timedelta(seconds=later_s), tick=False):
            drawn.add(str(parts.working(Worktime(100.2 + later_s + off_s, working=True), 5, 30)))
    assert len(drawn) == 1
    assert 'data-since="2026-11-27T11:58:20+00:00"' in drawn.pop()


def test_working_time_ticks_while_it_works_and_stands_still_while_it_waits():
    assert "data-since" in str(parts.working(Worktime(60, working=True), 5, 30))
    waits = Worktime(60, 720, waiting=True)
    assert "data-since" not in str(parts.working(waits, 5, 30))
    assert plain(parts.waited(waits)) == " · 12 min waiting for you"
    assert "data-since" in str(parts.waited(waits))
    assert plain(parts.waited(Worktime(60, 720))) == " · 12 min waited for you"
    assert parts.waited(Worktime(60, 0, working=True)) == ""


@time_machine.travel(NOON, tick=False)
def test_moments_are_said_to_the_second_and_with_the_day_when_it_is_another():
    assert plain(form.at(NOON - dt.timedelta(seconds=29))) == "11:59:31"
    assert plain(form.at(NOON - dt.timedelta(days=1))) == "26 Nov 12:00:00"


def test_actors_are_people_and_agents_not_prefixes():
    assert [form.actor(name) for name in ("user:anna", "agent:builder-1", "system", "")] == [
        "anna",
        "builder-1",
        "Crewdesk",
        "Crewdesk",
    ]


def test_counts_are_said_with_their_noun():
    assert (form.plural(1, "task"), form.plural(2, "task"), form.plural(0, "task")) == ("1 task", "2 tasks", "0 tasks")


def test_the_context_bar_never_leaves_its_frame_and_says_what_it_shows():
    html = str(parts.context_meter(ContextUse(240_000, 200_000), "ada"))
    assert 'aria-valuenow="100"' in html
    assert 'width="100"' in html
    assert 'aria-valuetext="120 percent, critical"' in html
    assert "context not reported" in str(parts.context_meter(None, "ada"))


def test_the_time_bar_is_red_past_the_window_and_grey_before_it():
    def bar(minutes):
        return str(parts.window_bar(Worktime(minutes * 60), 5, 30))

    assert 'class="over"' in bar(40)
    assert 'class="at"' in bar(10)
    assert 'class="early"' in bar(1)
    assert 'width="100.0"' in bar(540)
