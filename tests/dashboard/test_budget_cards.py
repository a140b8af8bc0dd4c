"""The card of a used-up budget offers what its answer can do: for one attempt, or for all that share the budget."""

import pytest
from django.urls import reverse

from tasks_app.domain.statuses import DecisionKind
from tests import factories as make
from tests.dashboard.conftest import words_of

USED = {"used_usd": 21.0, "limit_usd": 20.0, "used_tokens": None, "limit_tokens": None}


@pytest.fixture
def card(team, desk):
    def show(scope, *, run="a1b2c3d4"):
        payload = {"scope": scope, "run": run, **USED}
        agent_run = make.RunFactory(task__team=team, agent__team=team)
        decision = make.DecisionFactory(run=agent_run, kind=DecisionKind.BUDGET.value, payload=payload)
        return words_of(desk.get(reverse("inbox-detail", args=[decision.pk])))

    return show


@pytest.mark.parametrize(("scope", "named"), [("run", "attempt"), ("task", "task")])
def test_the_budget_of_one_attempt_or_task_is_answered_for_it_alone(card, scope, named):
    words = card(scope)
    for text in (f"Budget of the {named}", "$21.00 used of $20.00", "Finish with a smaller model", "Stop this attempt"):
        assert text in words


@pytest.mark.parametrize("scope", ["team", "server"])
def test_the_budget_that_all_share_is_answered_for_all(card, scope):
    words = card(scope)
    for text in ("The answer is for all of them.", "Finish with a smaller model", "Stop and pause the team"):
        assert text in words
    assert "Stop this attempt" not in words


def test_where_no_attempt_waits_no_model_can_finish_it(card):
    assert "smaller model" not in card("team", run="")
