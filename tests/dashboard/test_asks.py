"""Before something is stopped its page says what would happen, with the counts as they are, and offers the safe way out."""

import pytest
from django.urls import reverse

from tasks_app.domain.statuses import DecisionKind
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of

STAYS = "What was changed in the workspace stays."


@pytest.fixture
def run(team):
    make.AgentFactory(team=team, name="idle-one")
    task = make.TaskFactory(team=team, number=38, in_progress=True)
    return make.RunFactory(task=task, agent__team=team, agent__name="builder-2")


def asked(desk, name, key):
    page = desk.get(reverse(name, args=[key]))
    assert ' popover role="alertdialog"' in html_of(page)
    assert "autofocus>Keep running</button>" in html_of(page)
    return words_of(page)


def test_stopping_an_agent_says_what_becomes_of_its_task(desk, run):
    words = asked(desk, "agent", run.agent_id)
    assert f"Stop builder-2? T-38 goes back to Queued. {STAYS} It takes no task until you let it work again." in words
    assert "Keep running Stop builder-2" in words
    assert desk.post(reverse("agent-action", args=[run.agent_id]), {"do": "stop"}).status_code == 302


def test_stopping_an_agent_without_a_task_promises_nothing_about_one(desk, team, run):
    idle = team.agents.get(name="idle-one").pk
    assert "Stop idle-one? It takes no task until you let it work again. Keep running" in asked(desk, "agent", idle)


def test_stopping_a_team_counts_who_works_and_what_waits(desk, team, run):
    make.DecisionFactory(run=run, kind=DecisionKind.QUESTION.value)
    words = asked(desk, "team", "atlas")
    assert "Stop Atlas? 1 agent stops now. 1 task in flight goes back to Queued. 1 open request is withdrawn." in words
    assert f"Nothing new starts until you resume it. {STAYS} Keep running Stop Atlas" in words


def test_stopping_an_attempt_says_that_its_task_is_held(desk, run):
    words = asked(desk, "task", run.task_id)
    says = f"builder-2 stops now. T-38 waits until you start it again. {STAYS}"
    assert f"Stop attempt 1? {says} Keep running Stop attempt 1" in words
