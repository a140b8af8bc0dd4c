"""When no worker answers is known, and only said where it matters."""

import time

import pytest

from tasks_app.domain.statuses import TeamStatus
from tasks_app.management import status
from tasks_app.selectors import agents, look, tasks, workers
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    """A team whose only agent is free."""
    team = make.TeamFactory()
    make.AgentFactory(team=team)
    return team


def test_nobody_is_missed_while_there_is_nothing_to_do(team):
    make.TaskFactory(team=team, done=True)
    make.TaskFactory(team=team, gave_up=True)
    assert workers.silence([team.pk]) is None


def test_a_task_that_could_start_misses_a_worker_and_says_since_when_there_was_one(team):
    make.TaskFactory(team=team)
    assert workers.silence([team.pk]).since is None
    made = make.WorkerFactory(seen_at=time.time() - 60)
    assert workers.silence([team.pk]).since.timestamp() == pytest.approx(made.seen_at, abs=0.01)


def test_it_is_over_as_soon_as_one_worker_is_back(team):
    make.TaskFactory(team=team)
    make.WorkerFactory(seen_at=time.time() - 60)
    assert workers.silence([team.pk])
    make.WorkerFactory()
    assert workers.silence([team.pk]) is None


def test_a_lease_that_is_renewed_is_a_sign_of_life_too(team):
    make.RunFactory(task__team=team, agent=team.agents.get())
    assert workers.answering()


@pytest.mark.parametrize("rest", [TeamStatus.PAUSED, TeamStatus.STOPPED])
def test_a_team_that_rests_misses_nobody_unless_a_run_is_under_way(rest):
    team = make.TeamFactory(status=rest.value)
    make.TaskFactory(team=team)
    assert workers.silence([team.pk]) is None
    make.RunFactory(task__team=team, agent__team=team, lost=True)
    assert workers.silence([team.pk])


def test_what_waits_for_an_answer_or_for_another_task_misses_nobody(team):
    parked = make.RunFactory(task__team=team, agent=team.agents.get(), parked=True)
    make.TaskFactory(team=team, needs=[parked.task])
    assert workers.silence([team.pk]) is None


def test_the_work_of_other_teams_is_not_told(team):
    make.TaskFactory()
    assert workers.silence([team.pk]) is None


def test_every_reason_says_that_no_worker_answers_instead_of_promising_one(team):
    lost = make.RunFactory(task__team=team, agent=team.agents.get(), lost=True)
    due = make.RunFactory(task__team=team, agent__team=team, waiting_for_worker=True)
    ready = make.TaskFactory(team=team)
    said = {card.pk: card.reason for card in tasks.of_teams([team.pk])[team.pk]}
    assert said[lost.task_id] == f"its worker is gone, {workers.NOBODY}"
    assert said[due.task_id] == said[ready.pk] == workers.NOBODY
    notes = {card.pk: card.note for card in agents.of_teams([team.pk])}
    assert notes[lost.agent_id] == workers.NOBODY
    assert notes[due.agent_id] == f"{due.task.label}: {workers.NOBODY}"


def test_a_look_asks_only_once(team, django_assert_max_num_queries):
    with look.through({}), django_assert_max_num_queries(2):
        assert not workers.answering()
        assert not workers.answering()


def test_the_status_of_the_terminal_and_of_the_api_says_so(team):
    make.TaskFactory(team=team)
    make.WorkerFactory(seen_at=1_764_300_000.0)
    found = status.read(team.pk, make.ago(seconds=0))
    assert status.as_json(found)["no_worker_since"] == "2025-11-28T03:20:00+00:00"
    make.WorkerFactory()
    assert status.as_json(status.read(team.pk, make.ago(seconds=0)))["no_worker_since"] is None
