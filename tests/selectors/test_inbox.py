"""What waits comes in order, nothing else is in it, and a decision shows all that belongs to it."""

import datetime as dt

import pytest
from django.utils import timezone

from tasks_app.selectors import inbox
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return make.TeamFactory()


def ask(team, **words):
    return make.DecisionFactory(run=make.RunFactory(task__team=team, agent__team=team), **words)


def test_what_blocks_work_comes_first_then_the_oldest(team):
    young, old, blocking = (ask(team, opened_at=make.ago(minutes=age)) for age in (1, 9, 3))
    make.TaskFactory(team=team, needs=[blocking.task])
    assert [item.id for item in inbox.open_items([team.pk])] == [blocking.pk, old.pk, young.pk]


def test_snoozed_ones_come_last_and_stay_counted(team):
    later, now = ask(team, opened_at=make.ago(minutes=9)), ask(team, opened_at=make.ago(minutes=1))
    type(later).objects.filter(pk=later.pk).update(snoozed_until=timezone.now() + dt.timedelta(minutes=5))
    assert [item.id for item in inbox.open_items([team.pk])] == [now.pk, later.pk]
    waiting = inbox.waiting([team.pk])
    assert (waiting.count, waiting.snoozed, waiting.oldest.id) == (2, 1, now.pk)


def test_a_snooze_that_is_over_counts_as_awake(team):
    decision = ask(team, snoozed_until=make.ago(seconds=1))
    waiting = inbox.waiting([team.pk])
    assert (waiting.count, waiting.snoozed, waiting.oldest.id) == (1, 0, decision.pk)


def test_closed_ones_and_other_teams_are_not_in_it(team):
    ask(team, answered=True)
    ask(team, withdrawn=True)
    ask(team, expired=True)
    ask(make.TeamFactory())
    assert inbox.open_items([team.pk]) == []
    assert inbox.waiting([team.pk]).oldest is None


def test_an_item_says_how_many_tasks_wait_behind_it_directly_or_not(team):
    decision = ask(team)
    b = make.TaskFactory(team=team, needs=[decision.task])
    make.TaskFactory(team=team, needs=[b])
    make.TaskFactory(team=team, done=True, needs=[decision.task])
    assert inbox.open_items([team.pk])[0].behind == 2


def test_a_decision_shows_the_last_steps_before_it_was_asked_and_none_after(team):
    decision = ask(team, opened_at=make.ago(minutes=4))
    for age in (9, 8, 7, 6, 5, 4.5, 4.2, 1):
        make.StepFactory(run=decision.run, text=f"{age} min ago", at=make.ago(minutes=age))
    texts = [text for _, _, text in inbox.detail(decision.pk).before]
    assert texts == [f"{age} min ago" for age in (8, 7, 6, 5, 4.5, 4.2)]


def test_a_decision_that_never_existed_is_nothing():
    assert inbox.detail("dnope") is None
    assert inbox.team_of("dnope") is None


def test_answers_of_today_are_counted_and_the_last_one_ever_is_named(team):
    yesterday = make.ago(days=1)
    ask(team, answered=True, answered_at=yesterday)
    midnight = timezone.now() - dt.timedelta(hours=1)
    assert inbox.answered_since([team.pk], midnight) == (0, yesterday)
    ask(team, answered=True)
    assert inbox.answered_since([team.pk], midnight)[0] == 1


@pytest.mark.parametrize("count", [1, 20])
def test_the_list_costs_two_queries(team, count, django_assert_num_queries):
    for _ in range(count):
        ask(team)
    with django_assert_num_queries(2):
        assert len(inbox.open_items([team.pk])) == count
