"""A team says the most urgent thing in it, counts truthfully and forecasts nothing it cannot know."""

import datetime as dt
import itertools
from decimal import Decimal

import pytest
from django.utils import timezone

from tasks_app.selectors import stored_teams, teams
from tasks_app.selectors.states import TeamState
from tests import factories as make

pytestmark = pytest.mark.django_db


def summary(team):
    return teams.summaries([team.pk])[team.pk]


def waiting(team):
    make.DecisionFactory(run=make.RunFactory(task__team=team, agent__team=team))


def failed(team):
    make.TaskFactory(team=team, gave_up=True)


def lost(team):
    make.RunFactory(task__team=team, agent__team=team, lost=True)


def over_time(team):
    make.RunFactory(task__team=team, agent__team=team, started_at=make.ago(minutes=31))


def blocked(team):
    make.TaskFactory(team=team, needs=[make.TaskFactory(team=team, cancelled=True)])


def context(team):
    make.RunFactory(task__team=team, agent__team=team, agent__context_tokens=185_000, agent__context_window=200_000)


def in_flight(team):
    make.RunFactory(task__team=team, agent__team=team)


def queued(team):
    make.TaskFactory(team=team)


def done(team):
    make.TaskFactory(team=team, done=True)


LADDER = [waiting, failed, lost, over_time, blocked, context, in_flight, queued, done]


@pytest.mark.parametrize(("upper", "lower"), list(itertools.pairwise(LADDER)), ids=lambda step: step.__name__)
def test_the_more_urgent_of_two_things_is_said(upper, lower):
    team = make.TeamFactory()
    lower(team)
    assert summary(team).state is TeamState(lower.__name__)
    upper(team)
    assert summary(team).state is TeamState(upper.__name__)


def test_ordinary_dependencies_do_not_make_a_working_team_blocked():
    team = make.TeamFactory()
    run = make.RunFactory(task__team=team, agent__team=team)
    make.TaskFactory(team=team, needs=[run.task])
    assert summary(team).state is TeamState.IN_FLIGHT


def test_a_team_in_which_everything_waits_for_something_is_blocked():
    team = make.TeamFactory()
    a = make.TaskFactory(team=team)
    b = make.TaskFactory(team=team, needs=[a])
    make.DependencyFactory(task=a, needs=b)
    assert summary(team).state is TeamState.BLOCKED


def test_counts_are_by_derived_state_and_cancelled_tasks_are_not_to_be_done():
    team = make.TeamFactory()
    for one in (failed, in_flight, queued, done, done):
        one(team)
    make.TaskFactory(team=team, cancelled=True)
    counts = summary(team).counts
    assert (counts.failed, counts.in_flight, counts.queued, counts.done, counts.cancelled) == (1, 1, 1, 2, 1)
    assert counts.total == 5


def test_a_team_whose_cost_was_never_reported_has_no_cost_and_no_pace():
    team = make.TeamFactory(budget_usd=60, created_at=make.ago(hours=1))
    done(team)
    found = summary(team)
    assert found.used_usd is None
    assert found.percent is None
    assert found.pace_usd(timezone.now()) is None


def test_the_share_of_a_token_budget_is_said_where_cost_is_unknown():
    team = make.TeamFactory(budget_tokens=1000, used_tokens=690)
    assert summary(team).percent == 69


def test_the_pace_needs_ten_minutes_of_data():
    young = make.TeamFactory(used_usd="5", cost_known=True, created_at=make.ago(minutes=9))
    old = make.TeamFactory(used_usd="5", cost_known=True, created_at=make.ago(minutes=11))
    for team in (young, old):
        make.TaskFactory(team=team, done=True, used_usd="5", used_tokens=10)
        queued(team)
    now = timezone.now()
    assert summary(young).pace_usd(now) is None
    assert summary(old).pace_usd(now) == Decimal(10)
    assert summary(old).pace_usd(now - dt.timedelta(minutes=5)) is None


def test_the_pace_weighs_tasks_by_size_and_leaves_out_what_people_did_by_hand():
    team = make.TeamFactory(used_usd="7", used_tokens=170, cost_known=True, created_at=make.ago(hours=1))
    make.TaskFactory(team=team, done=True, used_usd="5", used_tokens=100, expected_max=30)  # typically 17 k
    make.TaskFactory(team=team, done=True, expected_max=30)  # by hand
    make.TaskFactory(team=team, cancelled=True, used_usd="1", used_tokens=20)
    make.TaskFactory(team=team, in_progress=True, used_usd="1", used_tokens=50, expected_max=60)  # typically 75 k
    found, now = summary(team), timezone.now()
    assert float(found.pace_usd(now)) == pytest.approx(5 + 5 * 75 / 17 + 1)
    assert found.pace_tokens(now) == round(100 + 100 * 75 / 17 + 20)


def test_teams_come_most_urgent_first():
    calm, urgent = make.TeamFactory(), make.TeamFactory(created_at=make.ago(hours=3))
    in_flight(calm)
    waiting(urgent)
    assert [team.pk for team in teams.visible([calm.pk, urgent.pk])] == [urgent.pk, calm.pk]


def test_sums_over_teams_count_decisions_and_tasks_apart():
    one, two = make.TeamFactory(), make.TeamFactory()
    run = make.RunFactory(task__team=one, agent__team=one)
    make.DecisionFactory(run=run)
    make.DecisionFactory(run=run, kind="question")
    failed(two)
    counts, open_decisions = teams.sums([one.pk, two.pk])
    assert open_decisions == 2
    assert (counts.waiting, counts.failed, counts.total) == (1, 1, 2)
    assert teams.sums([])[0].total == 0


@pytest.mark.parametrize("count", [1, 20])
def test_summaries_cost_the_same_queries_for_one_team_and_twenty(count, django_assert_num_queries):
    made = [make.TeamFactory() for _ in range(count)]
    for team in made:
        in_flight(team)
    with django_assert_num_queries(8):
        assert len(teams.visible([team.pk for team in made])) == count


def test_marks_name_what_calls_for_the_lead():
    team = make.TeamFactory(name="Atlas")
    waiting(team)
    failed(team)
    assert [(mark.name, mark.waiting, mark.failed) for mark in teams.marks([team.pk])] == [("Atlas", 1, 1)]


def test_archived_teams_are_in_no_list_and_no_sum_but_in_their_own():
    there, away = make.TeamFactory(name="There"), make.TeamFactory(name="Away", archived_at=make.ago(hours=1))
    for team in (there, away):
        make.TaskFactory(team=team, done=True)
    ids = [there.pk, away.pk]
    assert [team.name for team in teams.visible(ids)] == ["There"]
    assert [mark.name for mark in teams.marks(ids)] == ["There"]
    assert [mark.name for mark in teams.marks(ids, archived=True)] == ["Away", "There"]
    assert teams.sums(ids)[0].done == 1
    assert [(team.name, team.archived_at) for team in stored_teams.archived(ids)] == [("Away", away.archived_at)]
    assert set(teams.summaries(ids)) == set(ids), "its own pages still show it"


def test_a_team_whose_tasks_were_all_cancelled_is_done_and_one_without_tasks_is_not():
    given_up, empty = make.TeamFactory(), make.TeamFactory()
    make.TaskFactory(team=given_up, cancelled=True)
    assert (summary(given_up).state, summary(empty).state) == (TeamState.DONE, TeamState.QUEUED)
