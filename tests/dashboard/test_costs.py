"""A cost that is only the least it can be says so wherever it is shown: pages, terminal and API."""

import pytest
from django.urls import reverse
from django.utils import timezone
from rich.console import Console

from dashboard.templatetags.crew_format import COST_PARTIAL
from tasks_app.management import status
from tasks_app.models import Agent, Run, Task, Team
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of

LEAST = "at least $4.62"


@pytest.fixture
def run(team):
    made = make.RunFactory(task__team=team, agent__team=team, agent__name="ada", agent__used=True, cost_usd="4.62")
    Task.objects.filter(pk=made.task_id).update(used_usd="4.62", used_tokens=588_000)
    Team.objects.filter(pk=team.pk).update(used_usd="4.62", cost_known=True)
    return made


@pytest.fixture
def partly(run):
    for model in (Run, Task, Agent, Team):
        model.objects.update(cost_partial=True)
    return run


def addresses(run):
    return [
        reverse("team", args=["atlas"]),
        reverse("overview"),
        reverse("agent", args=[run.agent_id]),
        reverse("task", args=[run.task_id]),
    ]


def test_every_page_that_shows_it_says_at_least_and_why(desk, partly):
    for address in addresses(partly):
        page = desk.get(address)
        assert LEAST in words_of(page), address
        assert COST_PARTIAL in html_of(page), address
    assert words_of(desk.get(addresses(partly)[-1])).count(LEAST) == 2, "the task and its attempt"


def test_a_small_card_says_it_in_few_characters(desk, partly):
    assert "588 k · ≥ $4.62" in words_of(desk.get(reverse("team", args=["atlas"])))


def test_a_cost_that_is_whole_is_said_plainly(desk, run):
    for address in addresses(run):
        page = words_of(desk.get(address))
        assert "$4.62" in page
        assert "at least $" not in page


def test_the_terminal_and_the_api_say_it_too(team, partly):
    found = status.read(team.pk, timezone.now())
    console = Console(width=160, record=True, quiet=True)
    with console.capture() as shown:
        console.quiet = False
        console.print(status.as_text(found))
    assert LEAST in shown.get()
    plain = status.as_json(found)
    assert [part["cost_partial"] for part in (plain["team"], plain["tasks"][0], plain["agents"][0])] == [True] * 3
