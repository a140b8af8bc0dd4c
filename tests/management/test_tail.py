"""`manage.py tail`: the last events as sentences, or as documents."""

import json
from typing import Any

import pytest

from tasks_app.domain.events import EventKind
from tests import factories as make
from tests.management.commands import run

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Any:
    team = make.TeamFactory(slug="billing", name="Billing")
    for kind in (EventKind.TEAM_PAUSED, EventKind.RUN_STEPS, EventKind.TEAM_RESUMED, EventKind.RUN_STEPS):
        make.EventFactory(team=team, kind=kind, actor="user:lead", data={"first": 1, "last": 2})
    type(team).objects.filter(pk=team.pk).update(last_seq=4)
    return team


def said(*words: str) -> list[str]:
    code, out, err = run("tail", "billing", *words)
    assert (code, err) == (0, "")
    return [line.partition(" ")[2] for line in out.splitlines()]


def test_the_last_lines_are_sentences_and_steps_do_not_count(team: Any) -> None:
    assert said("-n", "2") == ["Lead paused the team Billing", "Lead let the team Billing work again"]
    assert said("-n", "1") == ["Lead let the team Billing work again"]
    assert said("-n", "0") == []
    assert said("-n", "1", "--steps") == ["An agent worked: steps 1 to 2"]
    assert said("--after", "2") == ["Lead let the team Billing work again"]


def test_a_long_note_is_printed_whole(team: Any) -> None:
    note = f"{'This attempt starts clean. ' * 20}Not put back: models.py"
    make.EventFactory(team=team, kind=EventKind.NOTE, actor="system", data={"text": note})
    assert said("--after", "4")[-1] == f"Crewdesk made a note: {note}"


def test_json_is_a_document_per_event_with_its_sentence_and_everything_else(team: Any) -> None:
    _, out, _ = run("tail", "billing", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["seq"] for row in rows] == [1, 2, 3, 4]
    assert (rows[0]["kind"], rows[0]["text"]) == ("team.paused", "Lead paused the team Billing")


@pytest.mark.parametrize(("words", "said"), [(["-n", "-1"], "--lines is"), (["--after", "-1"], "--after is")])
def test_a_number_below_zero_is_refused_by_its_name(team: Any, words: list[str], said: str) -> None:
    code, _, err = run("tail", "billing", *words)
    assert code == 2
    assert said in err
