"""The budgets of a plan: server > team > task > run, each within the one around it."""

import pytest

from tasks_app.domain import plan
from tasks_app.domain.errors import Invalid

TYPES = ("agent",)


def problems(text):
    with pytest.raises(Invalid) as caught:
        plan.parse(text, known_types=TYPES)
    return caught.value.problems


NESTED = """
team: T
budget: {usd: 10}
limits: {run_budget: {usd: RUN}}
agents: [{name: ann, role: builder}]
tasks:
  - {title: a, criteria: [x], budget: {usd: 4}, run_budget: {usd: OWN, tokens: 5}}
  - {title: b, criteria: [x], run_budget: {usd: FREE}}
"""


def test_budgets_of_runs_lie_within_those_of_task_and_team():
    text = NESTED.replace("RUN", "11").replace("OWN", "5").replace("FREE", "12")
    assert [(problem.path, problem.message) for problem in problems(text)] == [
        ("limits.run_budget.usd", "11 is more than the team's 10."),
        ("tasks[0].run_budget.usd", "5 is more than the task's 4."),
        ("tasks[1].run_budget.usd", "12 is more than the team's 10."),
    ]


def test_a_run_budget_of_nothing_is_refused():
    for nothing in ("0", "0.00001"):  # stored with four decimals, that would be nothing, too
        text = NESTED.replace("RUN", nothing).replace("OWN", "1").replace("FREE", "1")
        assert [problem.path for problem in problems(text)] == ["limits.run_budget.usd"]


def test_a_plan_says_what_each_run_may_use():
    found = plan.parse(NESTED.replace("RUN", "3").replace("OWN", "2").replace("FREE", "1"), known_types=TYPES)
    assert (found.limits.run_budget.usd, found.tasks[0].run_budget.usd, found.tasks[0].run_budget.tokens) == (3, 2, 5)
