"""How far a brake came too late is said wherever its budget is shown: pages, terminal and API."""

import pytest
from django.urls import reverse
from rich.console import Console

from tasks_app.domain.statuses import DecisionKind
from tasks_app.management import answers, status, task_view
from tasks_app.models import Run, Task, Team
from tasks_app.selectors import inbox
from tasks_app.services import budgets, clock, overruns
from tests import factories as make
from tests.dashboard.conftest import words_of
from tests.services import world


@pytest.fixture
def over(team):
    """A team at $21.10 of $20, in it a task at $2.30 of $2 and its attempt at 1,400 of 1,000 tokens."""
    run = make.RunFactory(task__team=team, agent__team=team, cost_usd="2.30", output_tokens=1_400)
    Run.objects.filter(pk=run.pk).update(budget_tokens=1_000)
    Task.objects.filter(pk=run.task_id).update(used_usd="2.30", used_tokens=1_400, budget_usd=2)
    Team.objects.filter(pk=team.pk).update(used_usd="21.10", cost_known=True, budget_usd=20)
    make.TaskFactory(team=team)
    return run


def test_the_pages_say_it_of_the_team_the_task_and_the_attempt(desk, over):
    for name, args in (("team", ["atlas"]), ("overview", [])):
        assert "$21.10 of $20 · over by $1.10 · new tasks held" in words_of(desk.get(reverse(name, args=args)))
    words = words_of(desk.get(reverse("task", args=[over.task_id])))
    assert "$2.30 of $2.00 · over by $0.30" in words
    assert "1 k tok of 1 k · $2.30 · over by 400 tok" in words


def test_the_terminal_and_the_api_say_it_too(desk, team, over):
    found = status.read(team.pk, clock.now())
    console = Console(width=200, quiet=True)
    with console.capture() as shown:
        console.quiet = False
        console.print(status.as_text(found))
    assert "$21.10 of $20.00 · over by $1.10 · new tasks held" in shown.get()
    lines = list(task_view.as_lines(task_view.read(over.task_id)))
    assert "budget: $2.30 of $2.00 · over by $0.30" in lines
    assert "     budget: 1 k of 1 k tokens · over by 400 tokens" in lines
    plain = task_view.as_json(task_view.read(over.task_id))
    assert (plain["over_budget_usd"], plain["runs"][0]["over_budget_tokens"]) == (0.3, 400)
    answer = desk.get("/api/teams/atlas").json()["team"]
    assert (answer["over_budget_usd"], answer["over_budget_tokens"], answer["new_tasks_held"]) == (1.1, 0, True)


def test_a_budget_that_is_kept_to_says_nothing_of_it(desk, team, over):
    Team.objects.update(used_usd=10)
    Task.objects.update(used_usd=1)
    Run.objects.update(budget_tokens=None)
    for address in (reverse("team", args=["atlas"]), reverse("task", args=[over.task_id])):
        assert "over by $" not in words_of(desk.get(address))
    assert desk.get("/api/teams/atlas").json()["team"]["new_tasks_held"] is False


def test_the_request_for_more_says_how_far_its_brake_came_too_late(desk, lead):
    crew = world.make(titles=("Build",))
    make.TeamAccessFactory(team=crew.team, user=lead)
    held = crew.claim()
    Task.objects.update(budget_usd=2, used_usd="2.30")
    overruns.park(held.id, held.fence, ask_anyway=False)
    asked = inbox.detail(inbox.open_items([crew.team.pk])[0].id)
    assert (asked.item.kind, asked.payload["over_usd"], asked.payload["over_tokens"]) == (DecisionKind.BUDGET, 0.3, None)
    assert "  $2.30 of $2.00 used, over by $0.30" in answers.shown(asked)
    assert "$2.30 used of $2.00 · over by $0.30" in words_of(desk.get(reverse("inbox-detail", args=[asked.item.id])))
    assert desk.get(f"/api/decisions/{asked.item.id}").json()["payload"]["over_usd"] == 0.3


@pytest.mark.django_db
def test_of_a_limit_the_reading_says_how_far_it_is_passed():
    crew = world.make()
    held = crew.claim()
    Team.objects.update(used_tokens=900, budget_tokens=1_000)
    assert budgets.read(held.id).over == 0
    Team.objects.update(used_tokens=1_250)
    assert budgets.read(held.id).over == 250
