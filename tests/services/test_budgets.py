"""Budgets: the tightest limit counts, each level is acted on once, and limits can be set."""

from decimal import Decimal

import pytest

from tasks_app.domain.budget import Level
from tasks_app.domain.errors import Invalid, NotFound
from tasks_app.domain.statuses import Reason, RunStatus
from tasks_app.models import Run, Task, Team
from tasks_app.services import budgets, endings, runs, steps
from tests.services import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def crew():
    return world.make()


def used(crew, team=0.0, task=0.0, tokens=0):
    Team.objects.update(used_usd=team, used_tokens=tokens)
    Task.objects.update(used_usd=task)


@pytest.mark.parametrize(
    ("team", "task", "level", "scope"),
    [
        (15.9, 0, Level.OK, "team"),
        (16.0, 0, Level.WRAP_UP, "team"),
        (19.0, 0, Level.CHECKPOINT, "team"),
        (20.0, 0, Level.USED_UP, "team"),
        (10.0, 1.9, Level.CHECKPOINT, "task"),
        (25.0, 2.5, Level.USED_UP, "team"),
    ],
)
def test_the_tightest_limit_counts_and_a_team_without_one_has_a_safe_default(crew, team, task, level, scope):
    held = crew.claim()
    Task.objects.update(budget_usd=Decimal(2))
    used(crew, team, task)
    reading = budgets.read(held.id)
    assert (reading.level, reading.scope, reading.unit) == (level, scope, "usd")


def test_tokens_count_like_money(crew):
    held = crew.claim()
    used(crew, tokens=900_000)
    budgets.set_team(crew.team.pk, usd="5", tokens="1000000", actor="user:ada")
    reading = budgets.read(held.id)
    assert (reading.level, reading.unit, reading.used, reading.limit) == (Level.WRAP_UP, "tokens", 900_000, 1_000_000)
    assert budgets.payload(held.id, reading)["limit_usd"] is None


def test_a_run_has_the_budget_that_its_task_or_else_the_teams_limits_give_to_each_run(crew):
    Team.objects.update(limits={**crew.team.limits, "run_budget": {"usd": 2.5, "tokens": 9000}})
    Task.objects.update(run_budget_usd=1)
    run = runs.get(crew.claim().id)
    assert (run.budget_usd, run.budget_tokens) == (Decimal(1), 9000)


@pytest.mark.parametrize(
    ("usd", "tokens", "level", "unit"),
    [
        ("0.50", 0, Level.OK, "usd"),
        ("0.80", 0, Level.WRAP_UP, "usd"),
        ("0.95", 0, Level.CHECKPOINT, "usd"),
        ("1.00", 0, Level.USED_UP, "usd"),
        ("0.50", 1000, Level.USED_UP, "tokens"),
    ],
)
def test_the_runs_own_budget_brakes_like_the_others(crew, usd, tokens, level, unit):
    Task.objects.update(run_budget_usd=1, run_budget_tokens=1000)
    held = crew.claim()
    Run.objects.update(cost_usd=usd, output_tokens=tokens)
    reading = budgets.read(held.id)
    assert (reading.level, reading.scope, reading.unit) == (level, "run", unit)


def test_a_new_attempt_begins_its_own_budget_anew(crew):
    Task.objects.update(run_budget_usd=1)
    held = crew.claim()
    Run.objects.update(cost_usd=2)
    assert budgets.read(held.id).level is Level.USED_UP
    endings.finish(held.id, held.fence, endings.Ending(RunStatus.FAILED, Reason.BUDGET))
    assert budgets.read(crew.claim(0, 1).id).level is Level.OK


def test_a_limit_that_rounds_to_nothing_is_used_up_and_breaks_nothing(crew):
    held = crew.claim()
    Team.objects.update(budget_usd=0)
    assert budgets.read(held.id).level is Level.USED_UP


def test_a_level_is_passed_once_and_never_backwards(crew):
    held = crew.claim()
    passed = []
    for team in (1, 16, 17, 19, 16, 19.5, 21, 25):
        used(crew, team)
        passed.append(budgets.note_level(held.id, budgets.read(held.id)))
    assert passed == [False, True, False, True, False, False, True, True], "what is used up is acted on each time"


@pytest.mark.parametrize(
    ("usd", "tokens", "field"),
    [
        *[(usd, None, "usd") for usd in ("0", "-1", "nan", "1e9", "0.00001")],
        *[(None, tokens, "tokens") for tokens in ("0", str(10**13))],
        ("x", None, "budget"),
        (None, "1.5", "budget"),
    ],
)
def test_a_bad_limit_is_refused_naming_the_field(crew, usd, tokens, field):
    before = world.frozen(crew.team)
    with pytest.raises(Invalid) as refused:
        budgets.set_team(crew.team.pk, usd=usd, tokens=tokens, actor="user:ada")
    assert refused.value.field == field
    with pytest.raises(Invalid):
        budgets.set_task(crew.tasks[0].pk, usd=usd, tokens=tokens, actor="user:ada")
    assert world.frozen(crew.team) == before


def test_limits_can_be_set_and_taken_away(crew):
    budgets.set_task(crew.tasks[0].pk, usd="1.25", tokens=500, actor="user:ada")
    assert (crew.task().budget_usd, crew.task().budget_tokens) == (Decimal("1.25"), 500)
    budgets.set_task(crew.tasks[0].pk, usd="", tokens=None, actor="user:ada")
    assert (crew.task().budget_usd, crew.task().budget_tokens) == (None, None)
    with pytest.raises(NotFound):
        budgets.set_task(10**9, usd="1", tokens=None, actor="user:ada")


def test_the_server_has_a_budget_for_all_real_teams_of_a_day_and_rehearsals_cost_nothing(crew, settings):
    settings.DAY_USD = 10.0
    held = crew.claim()
    for rehearsal, level in ((True, Level.OK), (False, Level.USED_UP)):
        Team.objects.update(rehearsal=rehearsal)
        said = world.say(cost=world.cost("p", 10.0 if rehearsal else 20.0))
        steps.record(held.id, held.fence, after=runs.get(held.id).last_seq, drafts=[said])
        Team.objects.update(used_usd=0)
        assert budgets.read(held.id).level is level
    reading = budgets.read(held.id)
    assert (reading.scope, reading.used, reading.limit) == ("server", 10.0, 10.0)
    budgets.raise_by("server", team_id=held.team_id, task_id=None, run_id=held.id, usd="10", tokens=None, actor="user:ada")
    assert budgets.read(held.id).level is Level.OK
