"""How a team does, on its page and over the API: reached from the board, figures with their definitions, nothing made up."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests import factories as make
from tests.dashboard.conftest import html_of, words_of

ADDRESS = "/teams/atlas/how-it-goes/"


@pytest.fixture
def worked(team):
    """One task done within its window, one over; a question in one of them, one request that waits."""
    now = timezone.now()
    for minutes in (9, 45):
        run = make.RunFactory(task__team=team, task__done=True, agent__team=team, ended=True, worked_s=minutes * 60)
        type(run.task).objects.filter(pk=run.task_id).update(status="completed", completed_at=now, completed_by=run.agent.name)
    make.DecisionFactory(run=run, kind="question", answered=True, opened_at=now - timedelta(minutes=3), answered_at=now)
    make.DecisionFactory(run=run, kind="permission")
    make.MessageUsageFactory(run=run, input_tokens=0, output_tokens=900)
    make.MessageUsageFactory(run=run, input_tokens=0, output_tokens=100, coordinates=True)
    return team


def test_the_page_shows_each_measure_with_its_figure_and_is_reached_from_the_board(desk, worked):
    text = words_of(desk.get(ADDRESS))
    assert "Done by agents 2 tasks" in text
    assert "Within their window 50% · 1 of 2, 0 short, 1 over" in text
    assert "Clarifications mid-task 1 · in 1 of 2 done tasks" in text
    assert "Rework reopened: 0 · reassigned: 0" in text
    assert "Tokens on coordination 10% · 100 of 1 k" in text
    assert "Clean hand-offs not known yet" in text
    assert "Human wait 3 min · longest 3 min, 1 answered 1 waiting now , the oldest for 4 min 1" in text
    assert f'href="{ADDRESS}"' in html_of(desk.get(reverse("team", args=["atlas"])))


def test_bars_are_named_for_who_cannot_see_them_and_need_no_style(desk, worked):
    html = html_of(desk.get(ADDRESS))
    assert 'aria-label="Working time against the window: 1 within, 0 short, 1 over"' in html
    assert 'aria-label="Tokens on coordination: 10%"' in html
    assert "style=" not in html


def test_before_anything_happened_everything_is_not_known_yet(desk, team):
    text = words_of(desk.get(ADDRESS))
    assert text.count("not known yet") == 8
    assert "Nothing has happened yet." in text


def test_an_archived_team_can_be_looked_at_too(desk, worked):
    type(worked).objects.update(archived_at=timezone.now())
    assert "Done by agents 2 tasks" in words_of(desk.get(ADDRESS))
    assert f'href="{ADDRESS}"' in html_of(desk.get(reverse("team", args=["atlas"])))


def test_who_may_not_see_the_team_learns_nothing(stranger, watcher, client, worked):
    assert (stranger.get(ADDRESS).status_code, watcher.get(ADDRESS).status_code) == (404, 200)
    assert client.get(ADDRESS).status_code == 302
    assert stranger.get("/api/teams/atlas/how-it-goes").status_code == 404


def test_the_api_gives_null_for_what_is_not_known(desk, worked):
    found = desk.get("/api/teams/atlas/how-it-goes").json()
    assert (found["team"], found["done"], found["within_percent"], found["clean_percent"]) == ("atlas", 2, 50, None)
    assert (found["asked"], found["wait_typical_s"], found["waiting"]) == (1, 180.0, 1)
    assert found["days"][0]["coordination_percent"] == 10
