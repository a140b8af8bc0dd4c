"""`manage.py decide`: what is shown of a request, so that whoever answers in the terminal knows what the page says."""

import re
from typing import Any

import pytest

from tasks_app.domain.statuses import DecisionKind
from tasks_app.services import actions
from tests.management.commands import run, run_json

pytestmark = pytest.mark.django_db


def test_the_terminal_shows_what_the_page_shows_of_the_options_and_how_to_give_guidance(ask: Any) -> None:
    """M5"""
    options = [
        {"label": "Give it to ada", "effect": "It gets your guidance.", "cost": "about 20 minutes", "action": "reassign:1"},
        {"label": "Cancel it", "effect": "", "cost": "nothing"},
    ]
    decision = ask(DecisionKind.ESCALATION, options=options, recommendation="Ada knows it.", auto=True)
    _, out, _ = run("decide", decision.pk)
    assert "  - Give it to ada: It gets your guidance.\n    Cost: about 20 minutes\n  - Cancel it\n    Cost: nothing" in out
    assert "  recommended: Ada knows it." in out
    assert "--text 'your guidance' beside --pick tells the agent more." in out
    assert "--text" in run("decide", ask(DecisionKind.ESCALATION).pk)[1]


def test_what_was_put_aside_or_is_looked_at_says_so_wherever_it_is_listed(ask: Any) -> None:
    asleep, awake, looked = (ask(DecisionKind.PERMISSION) for _ in range(3))
    actions.snooze(asleep.pk, minutes=30, actor="user:lead")
    actions.look(looked.pk, actor="user:anna")
    for words in (("decide",), ("team", "status", "billing")):
        line = {pk: line for line in run(*words)[1].splitlines() for pk in (asleep.pk, awake.pk, looked.pk) if pk in line}
        assert re.search(r" \(snoozed until \d\d:\d\d\)$", line[asleep.pk])
        assert not line[awake.pk].endswith(")")
        assert line[looked.pk].endswith(" (anna is looking at it)")
    assert "(snoozed until " in run("decide", asleep.pk)[1].splitlines()[0]
    rows = {row["id"]: row["snoozed_until"] for row in run_json("decide")[1]}
    assert rows[asleep.pk] is not None
    assert rows[awake.pk] is None
    actions.answer(asleep.pk, choice="deny", version=asleep.version, payload_hash=asleep.payload_hash, actor="user:lead")
    assert "snoozed" not in run("decide", asleep.pk)[1]


def test_the_problem_of_an_escalation_is_said_once(ask: Any) -> None:
    assert run("decide", ask(DecisionKind.ESCALATION).pk)[1].count("The payment API answers 401 to every call.") == 1
