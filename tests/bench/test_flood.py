"""The flood sees when a bound is broken, and who fell behind."""

import pytest

from bench import flood_cli, flood_kept
from bench.flood import LATE_MS, WEB_MIB, Peak, _say, unheard
from bench.report import Report
from tasks_app.domain.statuses import StepKind
from tasks_app.models import Run, Task
from tasks_app.runners.port import StepDraft
from tasks_app.services import runs, steps
from tests.services import world
from tests.services.fixtures import hints  # noqa: F401


def said(*, grown=10.0, late=50.0, last=7):
    seen = {"late_ms": [late] * 10, "gaps": 0, "died": {}, "last": [{"agent01": 7}]}
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
    assert said(last=8) == ["1 steps were never shown by 1 pages"] * 2  # in the flood and before


def test_a_page_that_showed_nothing_is_a_failure():
    seen = {"late_ms": [], "gaps": 0, "died": {}, "last": []}
    report = Report("flood")
    _say(report, *[{"other": seen, "tabs": seen, "loudest": seen, "last": {}}] * 2, [])
    assert len(report.failures) == 2


def test_agents_that_speak_less_in_the_flood_than_they_do_otherwise_are_a_failure():
    assert unheard({"count": 240}, 15, 2) == []
    assert unheard({"count": 239}, 15, 2) == ["the quiet agents were shown 239 times instead of 240"]


def test_what_was_said_is_stored_once_in_its_order_or_it_is_said():
    assert list(flood_kept.gaps("lines", [0, 1, 2, 3], 3)) == []
    for stored, words in (([1, 3], "1 are not stored"), ([1, 2, 2, 3], "1 more than once"), ([2, 1, 3], "their order")):
        assert words in "".join(flood_kept.gaps("lines", stored, 3))
    assert list(flood_kept.gaps("lines", [], 0)) == ["lines: nothing was said"]


@pytest.mark.usefixtures("db", "hints")
def test_a_result_that_was_cut_without_a_word_and_one_that_is_not_in_the_transcript_are_failures(tmp_path):
    made = world.make()
    held = made.claim()
    Task.objects.filter(pk=held.task_id).update(title="Line")
    (tmp_path / "spoken-line-").write_text("2")
    facts = {"size": flood_cli.LINE_CHARS, "cut": True}
    drafts = [StepDraft(StepKind.TOOL_RESULT, "iVBO", data, tool_use_id=f"toolu_{n}") for n, data in ((1, facts), (2, {}))]
    steps.record(held.id, held.fence, after=0, drafts=drafts)
    assert list(flood_kept.wrong(made.team, tmp_path)) == [
        "large results: 1 were cut without a word of their size",
        "large results: 0 of 2 are whole in the transcript",
    ]


@pytest.mark.usefixtures("db", "hints")
def test_a_result_too_large_to_be_read_is_told_to_the_life_that_goes_on(tmp_path):
    made = world.make()
    held = made.claim()
    Task.objects.filter(pk=held.task_id).update(title="Result")
    assert len(list(flood_kept.wrong(made.team, tmp_path))) == 2
    runs.count_death(held.id, held.fence, overflowed=True)
    assert list(flood_kept.wrong(made.team, tmp_path)) == ["the result of 100 MB: the life that went on was not told"]
    assert Run.objects.get(pk=held.id).overflowed
