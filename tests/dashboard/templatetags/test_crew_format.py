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


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "–"), (0, "0:00"), (252, "4:12"), (3600, "1:00:00"), (9068, "2:31:08"), (-5, "0:00")]
)
def test_spans(seconds, text):
    assert form.clock(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (252, "4:12"), (3599, "59:59"), (7500, "2 h 05 min"), (86_399, "23 h 59 min"), (3 * 86_400, "Tue 12:00")],
)
def test_ages(seconds, text):
    assert form.age_text(NOON - dt.timedelta(seconds=seconds), NOON) == text


def test_after_a_week_an_age_is_a_date():
    assert form.age_text(NOON - dt.timedelta(days=24), NOON) == "3 Nov 12:00"


@time_machine.travel(NOON, tick=False)
def test_an_age_carries_its_moment_so_that_the_page_can_tick():
    html = str(form.ago(NOON - dt.timedelta(seconds=252)))
    assert '<time class="n" datetime="2026-11-27T11:55:48+00:00"' in html
    assert 'data-since="2026-11-27T11:55:48+00:00"' in html
    assert plain(html) == "4:12"
    assert plain(form.left(NOON + dt.timedelta(seconds=348))) == "5:48"
    assert "data-until" in str(form.left(NOON))
    assert form.ago(None) == "–"


@time_machine.travel(NOON, tick=False)
@pytest.mark.parametrize(
    ("started_s", "ended_s", "text"),
    [
        (27 * 60 + 42, None, "27:42 of 5–30 min"),
        (33 * 60 + 12, None, "33:12 · over by 3:12"),
        (60, None, "1:00 of 5–30 min"),
        (130, 0, "2:10 · short, check result"),
        (30 * 60, 0, "30:00 of 5–30 min"),
    ],
)
def test_elapsed_time_stands_against_its_window(started_s, ended_s, text):
    since = NOON - dt.timedelta(seconds=started_s)
    until = None if ended_s is None else NOON - dt.timedelta(seconds=ended_s)
    assert plain(parts.elapsed(since, 5, 30, until)) == text


def test_what_has_not_started_has_no_time():
    assert parts.elapsed(None, 5, 30) == "not started"


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
    ago = timezone.now
    assert 'class="over"' in str(parts.window_bar(ago() - dt.timedelta(minutes=40), 5, 30))
    assert 'class="at"' in str(parts.window_bar(ago() - dt.timedelta(minutes=10), 5, 30))
    assert 'class="early"' in str(parts.window_bar(ago() - dt.timedelta(minutes=1), 5, 30))
    assert 'width="100.0"' in str(parts.window_bar(ago() - dt.timedelta(hours=9), 5, 30))
