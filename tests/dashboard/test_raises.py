"""A raise of a budget shows old, new and difference before it is made, and is made as it was shown; without scripts, too."""

from decimal import Decimal

import pytest
from django.urls import reverse

from dashboard.forms import budgets
from tasks_app.domain.statuses import DecisionKind
from tests import factories as make
from tests.dashboard.conftest import hidden_of, html_of, words_of


@pytest.fixture
def press(desk):
    return lambda name, key, **fields: desk.post(reverse(name, args=[key]), fields, follow=True)


@pytest.fixture(autouse=True)
def work(team):
    make.TaskFactory(team=team)


@pytest.fixture
def task(team):
    return make.TaskFactory(team=team, number=7, budget_usd=2, budget_tokens=1_000)


def test_a_raise_of_a_team_is_shown_first_and_made_when_it_is_confirmed(press, team):
    type(team).objects.update(budget_usd=20)
    asked = press("team-action", "atlas", do="budget", usd="30", tokens="")
    assert "Now $20.00 Then $30.00 Difference $10.00 more" in words_of(asked)
    assert "Keep it as it is" in words_of(asked)
    team.refresh_from_db()
    assert team.budget_usd == 20
    done = press("team-action", "atlas", **hidden_of(asked, "raise-budget-atlas"))
    assert "The budget is set: $20.00 before, $30.00 now ($10.00 more)." in words_of(done)
    team.refresh_from_db()
    assert team.budget_usd == 30


def test_a_raise_that_was_shown_from_another_budget_is_shown_again(press, team):
    type(team).objects.update(budget_usd=20)
    asked = press("team-action", "atlas", do="budget", usd="30", tokens="")
    type(team).objects.update(budget_usd=25)
    assert "Now $25.00 Then $30.00" in words_of(press("team-action", "atlas", **hidden_of(asked, "raise-budget-atlas")))
    team.refresh_from_db()
    assert team.budget_usd == 25


def test_the_safe_default_of_a_team_is_what_it_is_raised_from(press, team):
    assert "Now $20.00 Then $30.00" in words_of(press("team-action", "atlas", do="budget", usd="30", tokens=""))
    assert "$20.00 before, $5.00 now ($15.00 less)" in words_of(press("team-action", "atlas", do="budget", usd="5", tokens=""))


def test_a_raise_of_a_task_and_of_its_attempts_is_shown_in_each_unit_and_no_limit_is_a_raise(press, task):
    asked = words_of(press("task-action", task.pk, do="budget", usd="", tokens="5000"))
    assert "Now $2.00 Then no limit in US dollars Difference no limit any more" in asked
    assert "Now 1,000 tokens Then 5,000 tokens Difference 4,000 tokens more" in asked
    limited = words_of(press("task-action", task.pk, do="run_budget", usd="1", tokens=""))
    assert "no limit in US dollars before, $1.00 now (limited now). It holds from the next one on." in limited
    asked = press("task-action", task.pk, do="run_budget", usd="1.50", tokens="")
    assert "Now $1.00 Then $1.50 Difference $0.50 more" in words_of(asked)
    press("task-action", task.pk, **hidden_of(asked, f"raise-run_budget-{task.pk}"))
    task.refresh_from_db()
    assert (task.budget_usd, task.run_budget_usd) == (Decimal(2), Decimal("1.5"))


@pytest.mark.parametrize("usd", ["x", "-1"])
def test_what_is_no_amount_is_refused_at_its_field_and_asks_nothing(press, task, usd):
    refused = press("task-action", task.pk, do="budget", usd=usd, tokens="")
    assert refused.status_code == 422
    assert 'id="error-usd"' in html_of(refused)


def test_a_request_for_more_offers_raises_with_what_each_makes_of_the_limit(desk, team):
    run = make.RunFactory(task__team=team, agent__team=team)
    payload = {"scope": "task", "limit_usd": 20.0, "used_usd": 21.0, "limit_tokens": None, "run": run.pk}
    asked = make.DecisionFactory(run=run, kind=DecisionKind.BUDGET.value, payload=payload)
    page = desk.get(reverse("inbox-detail", args=[asked.pk]))
    words = words_of(page)
    assert "Raise it from $20.00 to $25.00 ($5.00 more) to $30.00 ($10.00 more) to $40.00 ($20.00 more)" in words
    fields = hidden_of(page, f"decision-{asked.pk}") | {"choice": "raise", "by": "10.00"}
    done = desk.post(reverse("decision-answer", args=[asked.pk]), fields, follow=True)
    assert "$20.00 before, $30.00 now ($10.00 more)." in words_of(done)
    asked.refresh_from_db()
    assert asked.answer["usd"] == "10.00"


@pytest.mark.parametrize(
    ("payload", "new"),
    [
        ({"limit_usd": "0.02", "used_usd": "0.09"}, ["$0.10", "$0.10", "$0.11"]),
        ({"limit_tokens": 1_000, "used_tokens": 1_300}, ["1,550 tokens", "1,500 tokens", "2,000 tokens"]),
        ({"limit_tokens": 1, "used_tokens": 1}, ["2 tokens", "2 tokens", "2 tokens"]),
    ],
)
def test_each_offer_leaves_something_to_be_used(payload, new):
    found = budgets.offers(payload)
    assert [one.new for one in found] == new
