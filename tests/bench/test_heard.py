"""`record`: an event that nobody heard of is found at the receiving end."""

import json

import pytest

from bench import heard
from bench.heard import Heard, Hint, unpublished
from tasks_app.models import Event
from tests.services import world
from tests.services.fixtures import hints  # noqa: F401

LOG = [(1, ["team:1", "run:a"]), (2, ["run:a"]), (3, ["run:b"]), (4, ["run:a"])]


def hint(seq: int, *keys: str) -> Hint:
    return Hint(seq, frozenset(keys))


def test_a_hint_stands_for_all_events_of_its_append() -> None:
    assert unpublished(LOG, [hint(2, "team:1", "run:a"), hint(4, "run:a", "run:b")]) == []


def test_an_event_whose_hint_is_missing_or_does_not_name_it_was_not_published() -> None:
    assert unpublished(LOG, []) == [1, 2, 3, 4]
    assert unpublished(LOG, [hint(4, "run:a")]) == [1, 3]
    assert unpublished(LOG, [hint(3, "team:1", "run:a", "run:b")]) == [4]


@pytest.mark.usefixtures("db", "hints")
def test_a_hint_that_was_asked_for_and_did_not_arrive_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard, "PATIENCE_S", 0.05)
    made, told = world.make(), Heard()
    made.claim()
    team = made.team
    keys = sorted({key for event in Event.objects.filter(team=team) for key in event.keys})
    last = Event.objects.filter(team=team).order_by("-seq").values_list("seq", flat=True)[0]
    told.asked[team.pk] = [1, last]
    told.note({"data": json.dumps({"team": team.pk, "seq": last, "keys": keys})})
    assert told.wrong(team.pk) == ["1 of 2 hints did not arrive"]
    told.note({"data": json.dumps({"team": team.pk, "seq": 1, "keys": []})})
    assert told.wrong(team.pk) == ["1 events were not published, the first is number 1"]
