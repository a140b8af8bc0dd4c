"""The transcript on an agent's page: what retention has removed is said, in place of an empty list."""

import time

import pytest
from django.urls import reverse

from tasks_app.models import Run, Step
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of

REMOVED = "Steps older than 30 days were removed."


@pytest.fixture
def run(team, settings):
    settings.KEEP_STEPS_DAYS = 30
    found = make.RunFactory(task__team=team, agent__team=team, ended=True)
    for number in range(1, 51):
        make.StepFactory(run=found, seq=number, text=f"Word {number}.")
    Run.objects.filter(pk=found.pk).update(last_seq=50)
    return found


def words(desk, run, **query):
    return words_of(desk.get(reverse("agent", args=[run.agent_id]), {"run": run.pk, **query}))


def test_what_is_all_there_says_nothing_of_it(desk, run):
    assert "Word 1." in words(desk, run)
    assert REMOVED not in words(desk, run)


@pytest.mark.parametrize("query", [{}, {"only": "text"}])
def test_steps_that_were_removed_are_not_an_attempt_that_did_nothing(desk, run, query):
    Step.objects.filter(run=run).delete()
    assert REMOVED in words(desk, run, **query)
    assert "Nothing" not in words(desk, run, **query)


def test_where_the_end_is_left_it_is_shown_after_the_sentence(desk, run):
    Step.objects.filter(run=run, seq__lte=45).delete()
    said = words(desk, run)
    assert said.index(REMOVED) < said.index("Word 46.")
    assert "Word 45." not in said


def test_after_the_rule_was_taken_back_it_names_no_days(desk, run, settings):
    settings.KEEP_STEPS_DAYS = 0
    Step.objects.filter(run=run).delete()
    assert "The steps of this attempt were removed." in words(desk, run)


def test_an_attempt_that_has_not_begun_says_so(desk, run):
    Run.objects.filter(pk=run.pk).update(last_seq=0)
    Step.objects.filter(run=run).delete()
    assert "Nothing yet." in words(desk, run)


def test_words_are_found_in_what_was_said_and_in_what_a_tool_was_called_with(desk, run):
    call = {"input": {"command": "pytest -k DST"}}
    make.StepFactory(run=run, seq=51, kind="tool_call", text="Bash", data=call, tool_use_id="t")
    Run.objects.filter(pk=run.pk).update(last_seq=51)
    assert "Word 7." in words(desk, run, find="word 7")
    assert "Word 8." not in words(desk, run, find="WORD 7")
    found = words(desk, run, find="dst pytest")
    assert "pytest -k DST" in found
    assert "Word 1." not in found
    assert "pytest -k DST" not in words(desk, run, find="dst", only="text")


def test_what_is_not_there_says_so_and_every_link_keeps_the_words(desk, run):
    page = desk.get(reverse("agent", args=[run.agent_id]), {"run": run.pk, "find": "no & such"})
    assert "No step matches. Clear filters" in words_of(page)
    assert f'href="?run={run.pk}&amp;only=tools&amp;find=no%20%26%20such"' in html_of(page)
    assert 'value="no &amp; such"' in html_of(page)


REJECTED = "The user doesn't want to proceed with this tool use. STOP what you are doing."


@pytest.mark.parametrize(
    ("text", "is_error", "said"), [(REJECTED, True, True), (REJECTED, False, False), ("The lead denied it.", True, False)]
)
def test_a_call_that_was_interrupted_is_not_shown_as_refused_by_somebody(desk, run, text, is_error, said):
    make.StepFactory(run=run, seq=52, kind="tool_result", text=text, data={"is_error": is_error}, tool_use_id="t")
    Run.objects.filter(pk=run.pk).update(last_seq=52)
    shown = words(desk, run)
    assert ("cut off: the turn was interrupted before this was done (parked or stopped); nobody refused it" in shown) is said
    assert text.split(".")[0].replace("'", "&#x27;") in shown


def test_an_agent_that_has_just_begun_is_not_quiet_for_what_it_did_before(desk, team):
    began = make.RunFactory(task__team=team, agent__team=team, lease_until=time.time() + 60)
    type(began).objects.filter(pk=began.pk).update(started_at=make.ago(minutes=1))
    type(began.agent).objects.filter(pk=began.agent_id).update(last_event_at=make.ago(minutes=9))
    assert "Last event 1 min" in words_of(desk.get(reverse("agent", args=[began.agent_id])))


@pytest.mark.parametrize(("minutes", "word", "css"), [(1, False, ""), (3, False, "muted"), (6, True, "t-wait")])
def test_a_working_agent_that_is_silent_is_quiet_after_five_minutes(desk, team, minutes, word, css):
    open_ = make.RunFactory(task__team=team, agent__team=team)
    type(open_).objects.filter(pk=open_.pk).update(started_at=make.ago(minutes=10))
    type(open_.agent).objects.filter(pk=open_.agent_id).update(last_event_at=make.ago(minutes=minutes))
    page = desk.get(reverse("agent", args=[open_.agent_id]))
    assert (f'<dd class="{css}">' in html_of(page), "quiet · " in words_of(page)) == (True, word)
    assert (" quiet " in words_of(desk.get(reverse("team", args=["atlas"])))) is word
