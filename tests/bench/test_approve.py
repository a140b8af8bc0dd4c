"""`approve`: a click without an effect is missing, not quick."""

from bench import approve
from bench.report import Report


def test_a_click_whose_effect_was_never_seen_is_a_failure_and_no_sample() -> None:
    report = Report("approve")
    approve.say(report, "click → answer", [40.0, None, 60.0], 4)
    assert report.figures[0].samples == [40.0, 60.0]
    assert report.failures == ["click → answer: missing: 2 of 4"]


def test_clicks_that_all_had_their_effect_are_none() -> None:
    report = Report("approve")
    approve.say(report, "click → answer", [40.0], 1)
    assert report.failures == []
