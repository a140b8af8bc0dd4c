"""Estimates of a plan: the starting table first, then what this installation has finished; rehearsals apart."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tasks_app.domain import plan as plans
from tasks_app.domain.estimate import CREATION_TOKENS, ENOUGH
from tasks_app.selectors import estimates
from tests import factories

pytestmark = pytest.mark.django_db
PLAN = "{team: T, agents: [{name: ada, role: builder, model: m}], tasks: [{title: One, criteria: [It is 1], assignee: ada}]}"


def plan():
    return plans.parse(PLAN, known_types=["agent"])


def finish(count, *, rehearsal=False):
    team = factories.TeamFactory(rehearsal=rehearsal)
    now = timezone.now()
    for _ in range(count):
        agent = factories.AgentFactory(team=team, role="builder", model="m")
        words = {"status": "completed", "started_at": now - timedelta(minutes=9), "ended_at": now, "cost_usd": "0.5"}
        counts = {"input_tokens": 1_000, "cache_creation_tokens": 40_000, "cache_read_tokens": 900_000, "output_tokens": 9_000}
        factories.RunFactory(team=team, agent=agent, task__team=team, task__expected_max=30, **words, **counts)


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
