"""How the terminal says things."""

import datetime as dt

import pytest

from tasks_app.domain.events import EventKind
from tasks_app.management import words
from tasks_app.selectors.journal import Entry

AT = dt.datetime(2026, 3, 1, 10, 20, 30, tzinfo=dt.UTC)


def entry(event: str, /, *, actor: str = "system", agent: str = "ada", task: str = "T-2", **data: object) -> Entry:
    return Entry(7, event, AT, actor, task, "r1", agent, "d1", data)


@pytest.mark.parametrize(("seconds", "said"), [(0, "0:00"), (59.9, "0:59"), (247, "4:07"), (3753, "1:02:33"), (-5, "0:00")])
def test_a_duration_is_a_clock(seconds: float, said: str) -> None:
    assert words.clock(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [(None, "–"), (0, "0"), (999, "999"), (41_200, "41 k"), (999_499, "999 k"), (999_500, "1.0 M"), (1_240_000, "1.2 M")],
)
def test_tokens_are_short_and_an_unknown_figure_is_never_zero(count: int | None, said: str) -> None:
    assert words.tokens(count) == said


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (entry(EventKind.TASK_CLAIMED, attempt=2), "10:20:30 T-2   ada takes it up, attempt 2"),
        (entry(EventKind.RUN_FAILED, reason="rate_limited"), "10:20:30 T-2   ada’s attempt failed: rate limited"),
        (entry(EventKind.DECISION_OPENED, title="ada asks: why?"), "10:20:30 T-2   waits for the lead [d1]: ada asks: why?"),
        (
            entry(EventKind.DECISION_ANSWERED, actor="user:lead", kind="plan", choice="approve_changes"),
            "10:20:30 T-2   lead answered ada’s plan: approve changes",
        ),
        (
            entry(EventKind.DECISION_ANSWERED, actor="user:lead", agent="", kind="escalation", choice="answer"),
            "10:20:30 T-2   lead answered the escalation: answer",
        ),
        (entry(EventKind.TEAM_STARTED, task="", name="Billing", rehearsal=True), "10:20:30       Billing starts, rehearsed"),
        (entry(EventKind.CHECKPOINT_SAVED, name="before", checkpoint=""), "10:20:30 T-2   checkpoint saved (name before)"),
    ],
)
def test_each_event_is_a_sentence_and_an_unknown_one_shows_its_facts(event: Entry, said: str) -> None:
    assert words.line(event) == said


def test_hostile_text_in_an_event_is_one_harmless_line() -> None:
    said = words.line(entry(EventKind.NOTE, text="a\x1b[2Jb\nc\u202ed" + "x" * 5000))
    assert "\x1b" not in said
    assert "\n" not in said
    assert "\u202e" not in said
    assert len(said) <= words.WIDTH


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_kind_of_event_can_be_said_without_any_data(kind: EventKind) -> None:
    assert words.line(entry(kind)).startswith("10:20:30 T-2   ")
