"""Estimates on pages: what a task will probably take, whether it fits a session, and where a team's spending leads."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tasks_app.domain.estimate import ENOUGH
from tests import factories as make
from tests.dashboard.conftest import words_of


@pytest.fixture
def ada(team):
    words = {"session_id": "s", "context_tokens": 100_000, "context_window": 200_000}
    return make.AgentFactory(team=team, name="ada", model="m", **words)


def finish(*, peak=180_000):
    now = timezone.now()
    for nth in range(ENOUGH):
        agent = make.AgentFactory(role="builder", model="m")
        ended = {"started_at": now - timedelta(minutes=8 + nth), "ended_at": now, "input_tokens": 50_000 + nth}
        known = {"context_first": 40_000, "context_peak": peak}
        make.RunFactory(ended=True, agent=agent, cost_usd="0.50", **known, **ended)


def task_page(client, task):
    return words_of(client.get(reverse("task", args=[task.pk])))


def test_before_anything_was_finished_a_task_says_that_a_table_speaks(desk, ada):
    text = task_page(desk, make.TaskFactory(team=ada.team, role="builder"))
    assert "10 k–25 k new tok, typically 17 k · 5–30 min · cost not known yet" in text
    assert "from a starting table, medium task: too few like it were finished here" in text
    assert "of context;" not in text


def test_then_it_says_what_such_tasks_took_and_that_it_needs_a_fresh_session(desk, ada):
    finish()
    text = task_page(desk, make.TaskFactory(team=ada.team, role="builder"))
    assert "50 k–50 k new tok, typically 50 k · 9–11 min · $0.50–$0.50, typically $0.50" in text
    assert "from 5 finished medium tasks by builder with m: half of them lay between these" in text
    assert "Needs about 140 k of context; ada has 60 k left → fresh session" in text


def test_a_task_that_fits_or_has_begun_needs_no_fresh_session(desk, ada):
    finish(peak=50_000)
    queued = make.TaskFactory(team=ada.team, role="builder")
    assert "Needs about 10 k of context; ada has 60 k left" in task_page(desk, queued)
    begun = make.RunFactory(task__team=ada.team, agent=ada).task
    for task in (queued, begun):
        assert "→ fresh session" not in task_page(desk, task)


def test_an_idle_agents_page_says_whether_the_first_task_in_its_queue_fits(desk, ada):
    finish()
    task = make.TaskFactory(team=ada.team, role="builder", number=7, title="Export")
    address = reverse("agent", args=[ada.pk])
    shown = "First in its queue: T-7 Export needs about 140 k of context; 60 k left → fresh session"
    assert shown in words_of(desk.get(address))
    make.RunFactory(task=task, agent=ada)
    assert "First in its queue" not in words_of(desk.get(address))


@pytest.mark.parametrize("where", ["team", "overview"])
def test_a_team_says_what_it_is_on_pace_for(desk, team, where):
    address = reverse(where, args=["atlas"] if where == "team" else [])
    make.TaskFactory(team=team, done=True, used_usd="5", used_tokens=1000)
    make.TaskFactory(team=team)
    type(team).objects.update(used_usd="5", used_tokens=1000, cost_known=True, budget_usd=60)
    assert "pace after 10 min" in words_of(desk.get(address))
    type(team).objects.update(created_at=make.ago(minutes=20))
    assert "$5.00 of $60 · 8% · 1 k tok · on pace for $10" in words_of(desk.get(address))
    type(team).objects.update(cost_known=False)
    assert "on pace for 2 k tok" in words_of(desk.get(address))
    make.TaskFactory._meta.model.objects.update(used_tokens=0, used_usd=0)
    assert "pace not known yet" in words_of(desk.get(address))
