"""An agent works only while its run has a live lease; everything else is said as it is."""

import time

import pytest

from tasks_app.domain.leases import LEASE_S
from tasks_app.selectors import agents
from tasks_app.selectors.states import AgentState, ContextUse
from tests import factories as make

pytestmark = pytest.mark.django_db


def card(agent):
    return agents.by_ids([agent.pk])[agent.pk]


def test_an_agent_with_a_live_lease_works_and_says_on_what():
    run = make.RunFactory(agent__now_text="Running pytest -q")
    found = card(run.agent)
    assert found.state is AgentState.WORKING
    assert found.now == "Running pytest -q"
    assert found.run.id == run.pk


def test_an_agent_whose_lease_ran_out_is_lost_and_says_for_how_long():
    run = make.RunFactory(lease_until=time.time() - 30)
    found = card(run.agent)
    assert found.state is AgentState.LOST
    assert found.run.silent_s == pytest.approx(30 + LEASE_S, abs=2)


def test_an_agent_that_asked_the_lead_agent_does_not_wait_for_you():
    parked = make.RunFactory(parked=True)
    make.DecisionFactory(run=parked, parked=True, decider="lead")
    found = card(parked.agent)
    assert (found.state, found.note) == (AgentState.WITH_LEAD, "parked: the answer is kept until the agent goes on")


def test_a_lease_that_ends_now_is_not_alive():
    run = make.RunFactory(lease_until=time.time() - 0.2)
    assert card(run.agent).state is AgentState.LOST


def test_an_agent_that_asked_waits_for_the_lead_whether_its_process_lives_or_not():
    attached, parked = make.RunFactory(), make.RunFactory(parked=True)
    make.DecisionFactory(run=attached)
    make.DecisionFactory(run=parked, parked=True)
    assert card(attached.agent).state is AgentState.WAITING
    found = card(parked.agent)
    assert found.state is AgentState.WAITING
    assert found.note == "parked: your answer is kept until the agent goes on"


def test_an_agent_with_an_answered_decision_does_not_wait():
    run = make.RunFactory()
    make.DecisionFactory(run=run, answered=True)
    assert card(run.agent).state is AgentState.WORKING


def test_an_agent_without_a_run_is_idle_and_a_stopped_one_is_stopped():
    assert card(make.AgentFactory()).state is AgentState.IDLE
    assert card(make.AgentFactory(stopped=True)).state is AgentState.STOPPED


def test_a_run_that_nobody_has_claimed_is_no_work():
    make.WorkerFactory()
    run = make.RunFactory(waiting_for_worker=True)
    found = card(run.agent)
    assert found.state is AgentState.IDLE
    assert found.note == f"{run.task.label} waits for a free worker"


def test_an_agent_that_is_being_stopped_says_so():
    run = make.RunFactory(stop_asked_at=make.ago(seconds=2))
    assert card(run.agent).note == "stopping"


def test_cost_that_was_never_reported_is_unknown_and_not_zero():
    assert card(make.AgentFactory()).used_usd is None
    assert card(make.AgentFactory(used=True)).used_usd is not None


def test_context_is_unknown_until_it_was_reported():
    assert card(make.AgentFactory()).context.percent is None
    assert card(make.AgentFactory(used=True)).context.percent == 81
    assert ContextUse(9284 + 190_713 + 3, 200_000).percent == 100
    assert ContextUse(5, None).percent is None
    assert ContextUse(250_000, 200_000).reading.over


@pytest.mark.parametrize("count", [1, 20])
def test_cards_cost_three_queries_whatever_their_number(count, django_assert_num_queries):
    team = make.TeamFactory()
    for _ in range(count):
        run = make.RunFactory(task__team=team, agent__team=team)
        make.DecisionFactory(run=run)
    with django_assert_num_queries(3):
        found = agents.of_teams([team.pk])
    assert len(found) == count
    assert {one.state for one in found} == {AgentState.WAITING}


def test_the_agents_of_other_teams_are_not_among_them():
    mine, other = make.AgentFactory(), make.AgentFactory()
    assert [one.pk for one in agents.of_teams([mine.team_id])] == [mine.pk]
    assert agents.ids_of_teams([mine.team_id]) == {mine.team_id: [mine.pk]}
    assert other.pk not in agents.by_ids([mine.pk])
