"""The flood sees when a bound is broken, and who fell behind."""

from bench.flood import LATE_MS, WEB_MIB, Peak, _say
from bench.report import Report


def said(*, grown=10.0, late=50.0, last=7):
    seen = {"late_ms": [late] * 10, "gaps": 0, "closed": [], "last": [{"agent01": 7}]}
    flood = {"other": seen, "tabs": seen, "loudest": seen, "last": {"agent01": last}}
    report = Report("flood")
    _say(report, flood, flood, [Peak("web server", None, WEB_MIB, 100.0, 100.0 + grown)])
    return report.failures


def test_a_flood_within_its_bounds_is_no_failure():
    assert said() == []


def test_memory_beyond_the_bound_a_late_page_and_a_lost_step_are_failures_in_words():
    assert said(grown=WEB_MIB + 1) == [f"the web server grew by {WEB_MIB + 1} MiB"]
    assert [line.partition(":")[0] for line in said(late=LATE_MS + 1.0)] == [
        "a page of another team",
        "the quiet agents of the same worker",
    ]
    assert said(last=8) == ["1 pages do not show the last step of every agent"]


def test_a_page_that_showed_nothing_is_a_failure():
    seen = {"late_ms": [], "gaps": 0, "closed": [], "last": []}
    report = Report("flood")
    _say(report, *[{"other": seen, "tabs": seen, "loudest": seen, "last": {}}] * 2, [])
    assert len(report.failures) == 2
