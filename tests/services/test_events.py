"""The log: what is appended together is one count and one INSERT, in its order; what is undone says nothing."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from tasks_app.domain.events import EventKind
from tasks_app.models import Event, Team
from tasks_app.services import events, rows
from tests import factories

pytestmark = pytest.mark.django_db


def note(team, words):
    events.append(team.pk, EventKind.NOTE, data={"text": words}, keys=(f"block:{words}",))


def told(team):
    return list(Event.objects.filter(team=team).order_by("seq").values_list("seq", "data__text"))


def test_what_is_appended_together_is_two_statements_in_its_order_and_one_hint(hints, django_capture_on_commit_callbacks):
    team = factories.TeamFactory()
    start = team.last_seq
    with django_capture_on_commit_callbacks(execute=True), CaptureQueriesContext(connection) as found, events.together(team.pk):
        for words in ("one", "two", "three"):
            note(team, words)
    assert len(found) == 2
    assert told(team) == [(start + 1, "one"), (start + 2, "two"), (start + 3, "three")]
    assert Team.objects.get().last_seq == start + 3
    [(team_id, seq, names)] = hints.browsers
    assert (team_id, seq) == (team.pk, start + 3)
    assert {"block:one", "block:two", "block:three"} <= set(names)


def test_other_teams_and_what_changes_the_team_as_well_are_appended_at_once():
    team, other = factories.TeamFactory(), factories.TeamFactory()
    with events.together(team.pk):
        note(other, "theirs")
        assert [words for _, words in told(other)] == ["theirs"]
        events.append_all(
            team.pk, [events.Line(EventKind.NOTE, data={"text": "spent"})], team=rows.Changes(add={"used_tokens": 5})
        )
        note(team, "later")
        assert [words for _, words in told(team)] == ["spent"]
    assert [words for _, words in told(team)] == ["spent", "later"]
    assert Team.objects.get(pk=team.pk).used_tokens == team.used_tokens + 5


def test_where_it_raises_nothing_is_appended_then_or_later():
    team = factories.TeamFactory()

    def lose():
        note(team, "lost")
        raise RuntimeError("a fault of ours")

    with pytest.raises(RuntimeError, match="a fault"), transaction.atomic(), events.together(team.pk):
        lose()
    note(team, "after")
    assert [words for _, words in told(team)] == ["after"]
    with events.together(team.pk):
        pass
    assert len(told(team)) == 1
