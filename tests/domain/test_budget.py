"""Budgets have levels."""

import pytest

from tasks_app.domain import budget
from tasks_app.domain.budget import Level


@pytest.mark.parametrize(
    ("used", "level"),
    [
        (0, Level.OK),
        (79.99, Level.OK),
        (80, Level.WRAP_UP),
        (94.9, Level.WRAP_UP),
        (95, Level.CHECKPOINT),
        (100, Level.USED_UP),
        (250, Level.USED_UP),
    ],
)
def test_levels_are_at_80_95_and_100_per_cent(used, level):
    assert budget.level(used, 100) is level


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing_is_used_up(limit):
    assert budget.level(0, limit) is Level.USED_UP


@pytest.mark.parametrize(
    ("amount", "limit", "said"),
    [
        ("$4.62", "$60", "$4.62 of $60"),
        ("$4.62", "", "$4.62"),
        ("", "$60", "cost not reported (budget $60)"),
        ("", "", "cost not reported"),
    ],
)
def test_a_cost_that_nobody_has_told_is_no_part_of_a_budget(amount, limit, said):
    assert budget.spent(amount, limit) == said


def test_unset_limits_have_a_safe_default():
    assert 0 < budget.DEFAULT_TEAM_USD < budget.DEFAULT_SERVER_USD_A_DAY < float("inf")
