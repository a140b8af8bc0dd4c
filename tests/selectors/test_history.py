"""The log through a filter, page by page."""

from typing import Any

import pytest

from tasks_app.domain.events import EventKind
from tasks_app.selectors import history
from tasks_app.selectors.history import Filter
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Any:
    return make.TeamFactory(name="Atlas")


def seqs(team: Any, wanted: Filter | None = None, **how: Any) -> list[int]:
    return [entry.seq for entry in history.page([team.pk], wanted or Filter(), **how).entries]


def test_the_newest_comes_first_and_the_cursor_goes_on_where_a_page_ends(team: Any) -> None:
    for _ in range(5):
        make.EventFactory(team=team)
    first = history.page([team.pk], limit=2)
    assert [entry.seq for entry in first.entries] == [5, 4]
    make.EventFactory(team=team)  # what happens meanwhile moves nothing on the next page
    second = history.page([team.pk], before=first.earlier, limit=2)
    assert [entry.seq for entry in second.entries] == [3, 2]
    assert history.page([team.pk], before=second.earlier, limit=2).earlier is None


def test_each_filter_keeps_what_it_names(team: Any) -> None:
    ada = make.AgentFactory(team=team, name="ada")
    task = make.TaskFactory(team=team, number=3, title="Payment API")
    make.EventFactory(team=team, kind=EventKind.TASK_CREATED, task_number=task.number, actor="user:lead")
    make.EventFactory(team=team, kind=EventKind.RUN_STEPS, agent_id=ada.pk)
    make.EventFactory(team=team, kind=EventKind.DECISION_OPENED, agent_id=ada.pk)
    make.EventFactory(team=team, kind=EventKind.MESSAGE_SENT, actor="agent:ada")
    make.EventFactory(team=team, kind=EventKind.TEAM_PAUSED, actor="user:lead")
    make.EventFactory(team=team, kind=EventKind.TEAM_STARTED, actor="system")
    assert seqs(team) == [6, 5, 4, 3, 1]
    assert seqs(team, Filter(steps=True)) == [6, 5, 4, 3, 2, 1]
    assert seqs(team, Filter(task=3)) == [1]
    assert seqs(team, Filter(agent="ADA")) == [4, 3]
    assert seqs(team, Filter(kind="team")) == [6, 5]
    assert seqs(team, Filter(kind="run.steps")) == [2]
    assert seqs(team, Filter(decisions=True)) == [5, 3]
    assert seqs(team, Filter(decisions=True, kind="team")) == [5]


def test_a_search_looks_at_the_sentence_whatever_the_case_and_order_of_its_words(team: Any) -> None:
    make.TaskFactory(team=team, number=3, title="Payment API")
    make.EventFactory(
        team=team, kind=EventKind.TASK_CANCELLED, actor="user:anna", task_number=3, data={"why": "Zürich is closed"}
    )
    make.EventFactory(team=team, kind=EventKind.TEAM_PAUSED, actor="user:anna")
    assert seqs(team, Filter(text="api CANCELLED")) == [1]
    assert seqs(team, Filter(text="zürich")) == [1]
    assert seqs(team, Filter(text="anna")) == [2, 1]
    assert seqs(team, Filter(text="anna nothere")) == []


def test_a_search_stops_after_so_many_events_and_says_where_to_go_on(team: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "CHUNK", 2)
    monkeypatch.setattr(history, "SCAN", 4)
    make.EventFactory(team=team, kind=EventKind.TEAM_PAUSED)
    for _ in range(5):
        make.EventFactory(team=team, kind=EventKind.TEAM_RESUMED)
    first = history.page([team.pk], Filter(text="paused"))
    assert (first.entries, first.unfinished) == ((), True)
    rest = history.page([team.pk], Filter(text="paused"), before=first.earlier)
    assert [entry.seq for entry in rest.entries] == [1]
    assert (rest.earlier, rest.unfinished) == (None, False)


def test_a_search_that_fills_its_page_goes_on_behind_the_last_hit(team: Any) -> None:
    for _ in range(5):
        make.EventFactory(team=team, kind=EventKind.TEAM_PAUSED)
    first = history.page([team.pk], Filter(text="paused"), limit=3)
    assert [entry.seq for entry in first.entries] == [5, 4, 3]
    assert [entry.seq for entry in history.page([team.pk], Filter(text="paused"), before=first.earlier).entries] == [2, 1]


def test_nothing_of_another_team_is_shown_or_offered(team: Any) -> None:
    other = make.AgentFactory(name="eve")
    make.AgentFactory(team=team, name="ada")
    make.EventFactory(team=other.team, agent_id=other.pk)
    assert seqs(team) == []
    assert seqs(team, Filter(agent="eve")) == []
    assert history.agent_names([team.pk]) == ["ada"]
