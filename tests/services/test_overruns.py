"""A budget that is used up: whoever spends it stops, the lead is asked once for it, and the answer is for all who wait."""

from decimal import Decimal

import pytest
from django.db import IntegrityError

from tasks_app.domain.budget import Level
from tasks_app.domain.errors import Conflict, Invalid
from tasks_app.domain.statuses import DecisionKind
from tasks_app.models import Decision, Run, Task, Team
from tasks_app.selectors import open_work
from tasks_app.selectors.states import TaskState, with_state
from tasks_app.services import actions, budgets, decisions, grants, overruns, runs, scheduling
from tests.services import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def crew():
    return world.make(titles=("Build", "Test", "Write"), agents=3)


def spend(usd=21.0):
    Team.objects.update(used_usd=usd)


def over(crew, place=0):
    """A run that is stopped for its budget, as `execution` does it."""
    held = crew.claim(place, place)
    spend()
    budgets.note_level(held.id, budgets.read(held.id))
    overruns.park(held.id, held.fence, ask_anyway=False)
    return held


def states(crew):
    return [row.state for row in with_state(Task.objects.filter(team=crew.team)).order_by("number")]


def test_raising_adds_to_the_limit_that_was_hit_and_the_run_goes_on_and_brakes_again(crew):
    held = over(crew)
    world.answer(Decision.objects.get(), "raise", data={"usd": "10"})
    assert Team.objects.get().budget_usd == 30
    assert not world.is_parked(held.id)
    assert Decision.objects.get().consumed_at is not None
    assert "budget.changed" in world.kinds(crew.team)
    world.take(held.id)
    assert budgets.read(held.id).level is Level.OK
    spend(31)
    assert budgets.note_level(held.id, budgets.read(held.id)) is True


def test_a_tasks_own_limit_is_raised_where_that_was_hit_and_is_asked_for_that_task(crew):
    held, other = crew.claim(), crew.claim(1, 1)
    Task.objects.update(budget_tokens=1000, used_tokens=2000)
    for each in (held, other):
        overruns.park(each.id, each.fence, ask_anyway=False)
    assert Decision.objects.count() == 2
    world.answer(Decision.objects.get(run=held.id), "raise", data={"tokens": "5000"})
    assert (crew.task().budget_tokens, crew.task(1).budget_tokens) == (6000, 1000)
    assert (world.is_parked(held.id), world.is_parked(other.id)) == (False, True)


def test_a_runs_own_limit_is_raised_for_this_attempt_alone(crew):
    Task.objects.update(run_budget_usd=1)
    held = crew.claim()
    Run.objects.filter(pk=held.id).update(cost_usd=1)
    budgets.note_level(held.id, budgets.read(held.id))
    overruns.park(held.id, held.fence, ask_anyway=False)
    asked = Decision.objects.get()
    assert (asked.title, asked.payload["scope"]) == ("builder-1 has used up the budget of the attempt", "run")
    world.answer(asked, "raise", data={"usd": "0.50"})
    run = Run.objects.get(pk=held.id)
    assert (run.budget_usd, run.budget_level, crew.task().run_budget_usd) == (Decimal("1.5"), "", Decimal(1))
    assert budgets.read(world.take(held.id).id).level is Level.OK
    assert Run.objects.get(task=crew.tasks[1]).budget_usd == 1, "another attempt has its own"


def test_a_smaller_model_may_finish_beyond_the_limit_and_does_not_brake_again(crew):
    held = over(crew)
    world.answer(Decision.objects.get(), "smaller_model")
    run = Run.objects.get(pk=held.id)
    assert (run.model_override, run.budget_waived) == ("haiku", True)
    world.take(held.id)
    spend(25)
    assert budgets.note_level(held.id, budgets.read(held.id)) is False


def test_stopping_at_a_tasks_budget_ends_the_attempt_and_the_lead_is_asked_what_next(crew):
    held = crew.claim()
    Task.objects.filter(pk=held.task_id).update(budget_usd=1, used_usd=2)
    overruns.park(held.id, held.fence, ask_anyway=False)
    world.answer(Decision.objects.get(), "stop")
    run = Run.objects.get(pk=held.id)
    assert (run.status, run.reason) == ("failed", "budget")
    assert Decision.objects.get(status="open").kind == "escalation"


def test_two_runs_that_use_up_the_teams_budget_ask_once_and_both_go_on_with_the_answer(crew):
    first, second = over(crew, 0), over(crew, 1)
    asked = Decision.objects.get()
    assert (asked.title, asked.run_id, asked.shared) == ("The budget of the team is used up", first.id, "team")
    assert all(world.is_parked(held.id) for held in (first, second))
    world.answer(asked, "raise", data={"usd": "10"})
    for held in (first, second):
        assert Run.objects.get(pk=held.id).budget_level == ""
        assert world.take(held.id).fence == 2
    assert Run.objects.get(pk=second.id).waits_for is None


@pytest.mark.parametrize("choice", ["smaller_model", "stop"])
def test_every_other_answer_is_for_all_who_wait_as_well(crew, choice):
    held = [over(crew, place) for place in (0, 1)]
    world.answer(Decision.objects.get(), choice)
    found = {(run.status, run.budget_waived) for run in Run.objects.filter(pk__in=[one.id for one in held])}
    assert found == ({("pending", True)} if choice == "smaller_model" else {("failed", False)})


def test_stopping_at_the_teams_budget_pauses_the_team_so_that_nothing_asks_again_at_once(crew):
    over(crew)
    world.answer(Decision.objects.get(), "stop")
    assert Team.objects.get().status == "paused"
    assert not Decision.objects.filter(status="open").exists()
    actions.resume_team(crew.team.pk, actor="user:ada")
    assert Decision.objects.filter(status="open", kind="budget").count() == 1


def test_a_task_is_not_started_by_hand_beyond_a_budget_that_all_share(crew):
    spend()
    with pytest.raises(Conflict, match=r"^The budget of the team is used up: no task starts until it is raised\.$"):
        actions.start_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="user:ada")
    assert not Run.objects.exists()
    spend(1)
    assert actions.start_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="user:ada").attempt == 1


def test_whoever_waits_for_a_shared_budget_is_shown_as_waiting_for_the_lead(crew):
    over(crew, 0)
    over(crew, 1)
    assert states(crew) == [TaskState.WAITING, TaskState.WAITING, TaskState.QUEUED]
    asks = open_work.asks(decisions.Q(agent_id__in=[agent.pk for agent in crew.agents]))
    assert [(agent, task, ask.id) for agent, task, ask in asks] == [
        (crew.agents[place].pk, crew.tasks[place].pk, Decision.objects.get().pk) for place in (0, 1)
    ]


def test_when_the_run_that_asked_is_stopped_the_others_keep_the_question(crew):
    first, second = over(crew, 0), over(crew, 1)
    actions.stop_run(first.id, actor="user:ada")
    asked = Decision.objects.get()
    assert (asked.status, asked.run_id, asked.task_id, asked.agent_id) == (
        "open",
        second.id,
        crew.tasks[1].pk,
        crew.agents[1].pk,
    )
    actions.stop_run(second.id, actor="user:ada")
    assert Decision.objects.get(pk=asked.pk).status == "withdrawn"


def test_no_task_starts_while_the_teams_budget_is_used_up_and_the_lead_is_asked_even_where_nothing_runs(crew):
    spend()
    assert scheduling.tick(crew.team.pk) == []
    assert scheduling.tick(crew.team.pk) == []
    asked = Decision.objects.get()
    assert (asked.kind, asked.run, asked.task_id) == ("budget", None, crew.tasks[0].pk)
    with pytest.raises(Invalid) as refused:
        world.answer(asked, "smaller_model")
    assert refused.value.field == "choice"
    world.answer(asked, "raise", data={"usd": "5"})
    assert Run.objects.filter(status="pending").count() == 2


def test_a_run_that_uses_it_up_later_joins_the_question_that_is_open(crew):
    held = crew.claim(0, 0)
    spend()
    scheduling.tick(crew.team.pk)
    overruns.park(held.id, held.fence, ask_anyway=False)
    asked = Decision.objects.get()
    assert Run.objects.get(pk=held.id).waits_for == asked
    world.answer(asked, "raise", data={"usd": "5"})
    assert not world.is_parked(held.id)


def test_a_limit_that_was_raised_while_the_run_was_being_stopped_is_not_asked_for(crew):
    held = crew.claim()
    spend()
    budgets.note_level(held.id, budgets.read(held.id))
    budgets.set_team(crew.team.pk, usd="50", tokens=None, actor="user:ada")
    overruns.park(held.id, held.fence, ask_anyway=False)
    assert not Decision.objects.exists()
    assert world.take(held.id).fence == 2


def test_a_process_that_stopped_at_its_own_limit_is_asked_for_even_where_ours_says_that_a_little_is_left(crew):
    held = crew.claim()
    grants.give(held.id, held.fence)
    spend(19.999)
    overruns.park(held.id, held.fence, ask_anyway=True)
    assert (Decision.objects.get().kind, world.is_parked(held.id)) == ("budget", True)


def test_a_run_that_goes_on_without_a_raise_brakes_again(crew):
    held = over(crew)
    decisions.withdraw(Decision.objects.get().pk, why="a mistake")
    world.take(held.id)
    assert budgets.note_level(held.id, budgets.read(held.id)) is True


def test_a_shared_budget_cannot_be_asked_twice_whoever_tries(crew):
    over(crew)
    run = runs.get(crew.claim(1, 1).id)
    with pytest.raises(IntegrityError):
        decisions.open_by_system(kind=DecisionKind.BUDGET, task=run.task, run=run, payload={"scope": "team"}, shared="team")


def test_the_servers_day_is_asked_once_for_each_team(crew, settings):
    settings.DAY_USD = 1.0
    Team.objects.update(rehearsal=False)
    budgets.add_server_usage(Decimal(2))
    for place in (0, 1):
        held = crew.claim(place, place)
        overruns.park(held.id, held.fence, ask_anyway=False)
    asked = Decision.objects.get()
    assert (asked.title, asked.shared) == ("The budget of the server is used up for today", "server")
    world.answer(asked, "raise", data={"usd": "5"})
    assert not any(world.is_parked(run.pk) for run in Run.objects.all())
