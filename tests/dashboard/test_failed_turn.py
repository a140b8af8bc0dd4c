"""A turn of the lead agent fails and the human makes its choice: the plan is done, in the terminal, on the pages, in the API."""

import json

import pytest
from django.urls import reverse

from tasks_app.domain.statuses import Reason, RunStatus
from tasks_app.management.unattended import End, Watch
from tasks_app.models import Decision, Run, Task
from tasks_app.selectors import teams
from tasks_app.selectors.states import TeamState
from tasks_app.services import actions, decisions, deliveries, runs, scheduling
from tasks_app.services.endings import Ending
from tests import factories
from tests.dashboard.conftest import words_of
from tests.management.commands import run_json
from tests.services import world

pytestmark = pytest.mark.django_db
ME = "user:lead"


@pytest.fixture
def crew(lead):
    made = world.make(slug="atlas", name="Atlas", lead=lead, limits={"parallel": 3, "attempts": 1})
    factories.AgentFactory(team=made.team, name="ada", role="lead", position=9)
    return made


def the_turn_fails(crew, *, paused):
    """The agent asks, the lead agent is woken, and its turn fails."""
    held = crew.claim()
    decision = decisions.open_for_run(held.id, held.fence, world.ask(world.DecisionKind.ESCALATION))
    scheduling.tick(crew.team.pk)
    turn = world.take(Run.objects.get(task__type="lead").pk)
    if paused:
        actions.pause_team(crew.team.pk, actor=ME)
    deliveries.end(turn.id, turn.fence, Ending(RunStatus.FAILED, Reason.ERROR, "It broke."), why="its run failed")
    scheduling.tick(crew.team.pk)
    return held, decision


def the_human_decides_and_the_work_ends(crew, held, decision):
    world.answer(decision, "answer", data={"option": "Mock the API"})
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {"1": "It works."}})
    deliveries.end(held.id, held.fence, Ending(RunStatus.COMPLETED, Reason.DONE), why="its run ended")
    scheduling.tick(crew.team.pk)


@pytest.mark.parametrize("paused", [False, True], ids=["active", "paused"])
def test_the_choice_is_the_humans_at_once_and_the_team_does_not_look_failed(crew, paused):
    _, decision = the_turn_fails(crew, paused=paused)
    now = Decision.objects.get(pk=decision.pk)
    assert (now.decider, now.handed_why) == ("human", "ada’s turn failed: It broke.")
    assert Task.objects.get(type="lead").status == "cancelled"
    found = teams.summaries([crew.team.pk])[crew.team.pk]
    assert (found.counts.failed, found.state) == (0, TeamState.WAITING)


@pytest.mark.parametrize("paused", [False, True], ids=["active", "paused"])
def test_the_plan_is_done_when_its_tasks_are(crew, lead, browser_of, paused):
    the_human_decides_and_the_work_ends(crew, *the_turn_fails(crew, paused=paused))
    told: list[str] = []
    ending = Watch(crew.team.pk, told.append, None, lambda: None, None).until_the_end()
    assert (ending.end, ending.why) == (End.COMPLETED, "All 1 tasks are completed.")
    assert teams.summaries([crew.team.pk])[crew.team.pk].state is TeamState.DONE
    desk = browser_of(lead)
    words = words_of(desk.get(reverse("team", args=["atlas"])))
    assert "Done" in words
    assert "1 failed" not in words
    overview = words_of(desk.get(reverse("overview")))
    assert "0 Failed" in overview
    assert "1 of 1 done cost" in overview, "nothing of the plan was cancelled"
    shown = json.loads(desk.get("/api/teams/atlas").content)
    assert (shown["team"]["state"], shown["team"]["tasks_done"], shown["team"]["tasks_total"]) == ("done", 1, 1)
    code, status = run_json("team", "status", "atlas")
    assert (code, status["team"]["state"]) == (0, "done")
