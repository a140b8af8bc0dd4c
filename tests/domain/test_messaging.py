"""Messages in words, and the settings of a plan."""

import pytest

from tasks_app.domain import plan
from tasks_app.domain.errors import Invalid
from tasks_app.domain.messaging import told

PLAN = "team: T\nmessages: {}\nagents: [{{name: a, role: r}}]\ntasks: [{{title: Do it, criteria: [done]}}]\n"


def parse(given):
    return plan.parse(PLAN.format(given), known_types=("agent",)).messages


def test_a_plan_sets_how_its_team_talks():
    assert parse("hub").mode == "hub"
    assert parse("{mode: hub, per_minute: 3, chain: 2}").model_dump() == {"mode": "hub", "per_minute": 3, "chain": 2}


@pytest.mark.parametrize("given", ["star", "{per_minute: 0}", "{chain: 1000}", "{chain: 2.5}", "{colour: red}", "[hub]"])
def test_a_wrong_setting_is_refused_with_its_place(given):
    with pytest.raises(Invalid) as refused:
        parse(given)
    assert all(problem.path.startswith("messages") and problem.line for problem in refused.value.problems)


def test_an_agent_is_told_what_it_has_to_know_of_a_message_and_nothing_more():
    assert told("m1", "lead", "Go.") == "[message m1 from lead]\nGo."
    text = told("m1", "ada", "Go.", priority="interrupt", everyone=True, meant_for="ben", no_reply=True)
    assert text.startswith(
        "[message m1 from ada, urgent, to everyone, meant for ben: pass it on if it should reach them, no reply"
    )
