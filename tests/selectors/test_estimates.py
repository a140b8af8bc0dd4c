"""Estimates of a plan: the starting table first, then what this installation has finished; rehearsals apart."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tasks_app.domain import plan as plans
from tasks_app.domain.estimate import CREATION_TOKENS, ENOUGH
from tasks_app.domain.plan_model import Budget
from tasks_app.models import Run, Team
from tasks_app.selectors import estimates
from tests import factories

pytestmark = pytest.mark.django_db
PLAN = "{team: T, agents: [{name: ada, role: builder, model: m}], tasks: [{title: One, criteria: [It is 1], assignee: ada}]}"


def plan():
    return plans.parse(PLAN, known_types=["agent"])


def finish(count, *, rehearsal=False, first=None, peak=None):
    team = factories.TeamFactory(rehearsal=rehearsal)
    now = timezone.now()
    for _ in range(count):
        agent = factories.AgentFactory(team=team, role="builder", model="m")
        words = {"status": "completed", "started_at": now - timedelta(minutes=9), "ended_at": now, "cost_usd": "0.5"}
        counts = {"input_tokens": 1_000, "cache_creation_tokens": 40_000, "cache_read_tokens": 900_000, "output_tokens": 9_000}
        known = {"context_first": first, "context_peak": peak}
        factories.RunFactory(team=team, agent=agent, task__team=team, task__expected_max=30, **known, **words, **counts)


def test_before_anything_is_finished_the_table_speaks():
    found = estimates.of_plan(plan(), rehearsal=False)
    assert (found.tokens.typical, found.usd, found.learned) == (17_000 + CREATION_TOKENS, None, 0)


def test_then_what_was_finished_without_what_came_from_the_cache(django_assert_num_queries):
    finish(ENOUGH)
    with django_assert_num_queries(1):
        found = estimates.of_plan(plan(), rehearsal=False)
    assert (found.tokens.typical, found.learned, found.tasks) == (50_000 + CREATION_TOKENS, 1, 1)
    assert found.usd is not None
    assert found.usd.typical == 0.5


def test_a_rehearsal_teaches_nothing_about_real_work():
    finish(ENOUGH, rehearsal=True)
    assert estimates.of_plan(plan(), rehearsal=False).learned == 0


def test_what_ended_before_its_team_was_imported_teaches_nothing_and_what_ends_afterwards_does():
    finish(ENOUGH)
    team = Team.objects.get()
    factories.EventFactory(team=team, kind="team.imported", at=timezone.now())
    assert estimates.of_plan(plan(), rehearsal=False).learned == 0
    Run.objects.update(ended_at=timezone.now() + timedelta(minutes=1))
    assert estimates.of_plan(plan(), rehearsal=False).learned == 1


def waiting_task(agent, **more):
    words = {"expected_min": 5, "expected_max": 30, "role": "builder", **more}
    return factories.TaskFactory(team=agent.team, **words)


def ada(**more):
    words = {"name": "ada", "role": "builder", "model": "m", "context_tokens": 100_000, "context_window": 200_000}
    return factories.AgentFactory(**{**words, "session_id": "s", **more})


def test_a_task_says_what_it_takes_and_from_how_many_attempts_in_three_queries(django_assert_num_queries):
    finish(ENOUGH)
    task = waiting_task(ada())
    with django_assert_num_queries(3):
        found = estimates.of_task(task.pk)
    assert found.estimate.basis == "5 finished medium tasks by builder with m"
    assert (found.estimate.tokens.typical, round(found.estimate.minutes.typical), found.forecasts) == (50_000, 9, ())
    assert estimates.of_task(0) is None


def test_attempts_of_another_size_teach_nothing():
    finish(ENOUGH)
    found = estimates.of_task(waiting_task(ada(), expected_max=60).pk).estimate
    assert (found.attempts, found.basis) == (0, "starting table, large task")


def test_whether_it_fits_counts_what_a_task_adds_to_a_session_not_what_was_there_before():
    finish(ENOUGH, first=40_000, peak=180_000)
    agent = ada()
    room = estimates.of_task(waiting_task(agent).pk).forecasts[0].room
    assert (room.needs, room.left, room.fits) == (140_000, 60_000, False)
    assert estimates.room_of(waiting_task(agent), agent, rehearsal=False) == room


@pytest.mark.parametrize("unknown", [{"context_tokens": None}, {"context_window": None}, {"session_id": ""}])
def test_nothing_is_forecast_where_a_figure_is_missing(unknown):
    finish(ENOUGH, first=40_000, peak=180_000)
    assert estimates.of_task(waiting_task(ada(**unknown)).pk).forecasts == ()


def test_nothing_is_forecast_from_the_starting_table():
    assert estimates.of_task(waiting_task(ada()).pk).forecasts == ()


def test_an_idle_agent_knows_the_first_queued_task_it_may_take(django_assert_num_queries):
    finish(ENOUGH, first=40_000, peak=180_000)
    agent = ada()
    waiting_task(agent, number=1, role="tester")
    waiting_task(agent, number=2, assignee=factories.AgentFactory(team=agent.team))
    waiting_task(agent, number=3, needs=[waiting_task(agent, number=9, priority=9)])
    waiting_task(agent, number=4, held=True)
    waiting_task(agent, number=5, in_progress=True)
    waiting_task(agent, number=6)
    with django_assert_num_queries(3):
        found = estimates.next_of(agent.pk)
    assert (found.label, found.room.fits) == ("T-6", False)
    waiting_task(agent, number=7, priority=0, role="")
    assert estimates.next_of(agent.pk).label == "T-7"


def test_no_next_task_is_forecast_for_an_agent_without_a_session_or_with_too_little_known():
    agent = ada()
    waiting_task(agent)
    assert estimates.next_of(agent.pk) is None
    finish(ENOUGH, first=40_000, peak=180_000)
    assert estimates.next_of(agent.pk) is not None
    type(agent).objects.filter(pk=agent.pk).update(session_id="")
    assert estimates.next_of(agent.pk) is None


def test_what_failed_attempts_of_a_finished_task_took_is_part_of_what_it_takes():
    finish(ENOUGH)
    for run in list(Run.objects.all()):
        Run.objects.filter(pk=run.pk).update(attempt=2)
        failed = {"started_at": run.started_at, "ended_at": run.ended_at, "input_tokens": 50_000, "cost_usd": "0.25"}
        factories.RunFactory(team=run.team, agent=run.agent, task=run.task, attempt=1, failed=True, **failed)
    task = waiting_task(ada())
    found = estimates.of_task(task.pk).estimate
    assert (found.tokens.typical, round(found.minutes.typical), found.usd.typical) == (100_000, 18, 0.75)
    assert found.attempts == ENOUGH


def test_a_budget_that_will_not_do_for_a_plan_is_named():
    assert estimates.short_budget(plan(), rehearsal=False) == ""
    many = plan().model_copy(update={"tasks": plan().tasks * 500})
    assert estimates.short_budget(many, rehearsal=False) == "The budget is $20.00 for 500 tasks: $0.04 for each."
    finish(ENOUGH)
    assert estimates.short_budget(many, rehearsal=False) == "Such tasks cost about $250.00 together; the budget is $20.00."
    few = plan().model_copy(update={"budget": Budget(tokens=9_000)})
    assert estimates.short_budget(few, rehearsal=False).endswith("the budget is 9,000.")
