"""Within one look the same question is read once; without one, and in the next look, everything is read anew."""

import pytest

from tasks_app.models import Team
from tasks_app.selectors import agents, attempts, look, tasks, teams
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair():
    return [make.AgentFactory().team_id, make.AgentFactory().team_id]


def test_within_a_look_the_same_teams_are_read_once_in_whatever_order(pair, django_assert_num_queries):
    with look.through({}):
        assert teams.listed(pair) == set(pair)
        with django_assert_num_queries(0):
            assert teams.listed(pair[::-1]) == set(pair)
        with django_assert_num_queries(1):
            assert teams.listed(pair[:1]) == {pair[0]}, "other ids are another question"


def test_without_a_look_and_in_the_next_one_a_change_is_seen(pair):
    with look.through({}):
        assert teams.listed(pair) == set(pair)
    Team.objects.filter(pk=pair[0]).update(archived_at=make.ago(hours=1))
    assert teams.listed(pair) == {pair[1]}
    with look.through({}):
        assert teams.listed(pair) == {pair[1]}


def test_a_look_inside_a_look_shares_it_only_where_it_is_given(pair, django_assert_num_queries):
    with look.through({}):
        teams.listed(pair)
        with look.through(look.under_way()), django_assert_num_queries(0):
            teams.listed(pair)
        with look.through({}), django_assert_num_queries(1):
            teams.listed(pair)


def test_agents_read_with_their_team_are_not_read_again_one_by_one(pair, django_assert_num_queries):
    other = make.AgentFactory()
    with look.through({}):
        known = agents.of_teams(pair)
        with django_assert_num_queries(0):
            assert agents.by_ids(card.pk for card in known) == {card.pk: card for card in known}
        with django_assert_num_queries(3):
            assert set(agents.by_ids([known[0].pk, other.pk])) == {known[0].pk, other.pk}
    with django_assert_num_queries(3):
        assert agents.by_ids([known[0].pk])


def test_the_blocks_of_a_tasks_page_read_their_task_once(django_assert_num_queries):
    pk = make.TaskFactory().pk
    with look.through({}):
        found = attempts.page(pk)
        runs = attempts.of_task(pk)
        with django_assert_num_queries(0):
            assert (attempts.page(pk), tasks.one(pk), attempts.of_task(pk)) == (found, found.card, runs)
    assert tasks.one(pk) is not found.card
