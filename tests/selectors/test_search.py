"""One search over everything: the right things, in order, of the right teams, at a constant cost."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app.domain.events import EventKind
from tasks_app.selectors import search
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Any:
    return make.TeamFactory(name="Atlas", goal="Ship the billing feature.")


def labels(team: Any, text: str) -> list[str]:
    return [task.label for task in search.find([team.pk], text).tasks.items]


def test_a_task_is_found_by_its_number_first_and_by_words_of_its_title_or_description(team: Any) -> None:
    make.TaskFactory(team=team, number=12, title="Payment API")
    make.TaskFactory(team=team, number=401, title="Documentation", description="Say what the payment api answers.")
    make.TaskFactory(team=team, number=13, title="Calls that answer 401")
    assert labels(team, "T-12") == ["T-12"]
    assert labels(team, "401") == ["T-401", "T-13"]
    assert labels(team, "API payment") == ["T-401", "T-12"]
    assert labels(team, "payment schema") == []
    assert search.find([team.pk], "T-12").tasks.items[0].state == "queued"


@pytest.mark.parametrize("text", ["zürich", "ZÜRICH", "Zürich", "züRICH zürich"])
def test_the_case_of_letters_beyond_ascii_does_not_matter_either(team: Any, text: str) -> None:
    make.TaskFactory(team=team, number=1, title="Move the office to Zürich")
    assert labels(team, text) == ["T-1"]


def test_signs_that_databases_take_for_patterns_are_signs(team: Any) -> None:
    make.TaskFactory(team=team, number=1, title="Reach 100 % of coverage")
    make.TaskFactory(team=team, number=2, title="Reach a_b")
    assert labels(team, "%") == ["T-1"]
    assert labels(team, "_") == ["T-2"]
    assert labels(team, "\\") == []


def test_teams_agents_requests_and_events_are_found_with_it(team: Any) -> None:
    run = make.RunFactory(task__team=team, task__number=12, agent__team=team, agent__name="ada", agent__role="builder")
    old = make.DecisionFactory(run=run, title="ada asks about billing", answered=True)
    asked = make.DecisionFactory(run=run, title="ada wants to see billing")
    make.EventFactory(team=team, kind=EventKind.TASK_CANCELLED, actor="user:anna", task_number=12, data={"why": "no billing"})
    make.EventFactory(team=team, kind=EventKind.TEAM_PAUSED, actor="user:anna")
    found = search.find([team.pk], "BILLING")
    assert [one.name for one in found.teams.items] == ["Atlas"]
    assert [one.id for one in found.decisions.items] == [asked.pk, old.pk]  # what waits comes first
    assert [entry.seq for entry in found.events.entries] == [1]
    assert [one.name for one in search.find([team.pk], "ada").agents.items] == ["ada"]
    assert [one.name for one in search.find([team.pk], "builder").agents.items] == ["ada"]
    by_number = search.find([team.pk], "T-12")
    assert {one.id for one in by_number.decisions.items} == {asked.pk, old.pk}
    assert [entry.seq for entry in by_number.events.entries] == [1]
    assert not search.find([team.pk], "nowhere").any


def test_nothing_of_another_team_is_found(team: Any) -> None:
    other = make.TeamFactory(name="Secret billing", goal="billing")
    run = make.RunFactory(task__team=other, task__title="Secret billing", agent__team=other, agent__name="billing")
    make.DecisionFactory(run=run, title="billing")
    make.EventFactory(team=other, kind=EventKind.TASK_CANCELLED, actor="user:anna", data={"why": "billing"})
    found = search.find([team.pk], "billing")
    assert [one.name for one in found.teams.items] == ["Atlas"]
    assert [found.tasks.items, found.agents.items, found.decisions.items, found.events.entries] == [()] * 4
    assert not search.find([], "billing").any


def test_of_many_the_first_are_shown_and_the_cost_stays_the_same(team: Any) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection, ) as found:  # fmt: skip
            search.find(teams, "work")
        return len(found)

    teams = [team.pk]
    make.EventFactory(team=team, kind=EventKind.TASK_CANCELLED, data={"why": "work"})
    few = cost()
    for _ in range(3):
        other = make.TeamFactory()
        teams.append(other.pk)
        make.TaskFactory.create_batch(search.EACH, team=other, title="Some work")
        make.EventFactory.create_batch(300, team=other, kind=EventKind.TASK_CANCELLED, data={"why": "work"})
    assert cost() == few
    assert few <= 11
    found = search.find(teams, "work")
    assert len(found.tasks.items) == search.EACH
    assert found.tasks.more
    assert len(found.events.entries) == search.EVENTS
