"""The scripted lead's file, and which rule answers what."""

import pytest

from tasks_app.domain.errors import Invalid
from tasks_app.domain.statuses import DecisionKind
from tasks_app.management import lead
from tasks_app.management.lead import Request
from tests.factories import PAYLOADS


def request(kind: DecisionKind, *, id: str = "d1", task: str = "payment-api", agent: str = "ben", **payload: object) -> Request:
    return Request(id, kind, f"{agent} asks", agent, (task, "T-2", "Payment API"), {**PAYLOADS[kind], **payload}, open=True)


def reply_to(text: str, asked: Request, *others: Request) -> lead.Reply | None:
    return lead.reply(lead.load(text), asked, all_requests=[*others, asked])


def test_every_error_is_named_at_once_with_its_line() -> None:
    text = """after: -1
rules:
- when: {kind: permision}
  answer: {choice: allow}
- when: {kind: plan}
  answer: {choice: allow}
- answr: 1
"""
    with pytest.raises(Invalid) as caught:
        lead.load(text)
    problems = [(problem.line, problem.path) for problem in caught.value.problems]
    assert problems == [(1, "after"), (3, "rules[0].when.kind"), (5, "rules[1]"), (7, "rules[2].answr")]
    assert "approve, approve_changes, revise" in str(caught.value.problems[2])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "just words", "rules: 3", "rules: [{when: {}}]", "rules: [{when: {}, answer: {choice: a}, reassign: {to: b}}]"],
)
def test_a_file_that_is_no_lead_is_refused_in_words(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        lead.load(text)
    assert caught.value.problems


def test_the_first_rule_that_fits_answers() -> None:
    text = """
    after: 2
    rules:
      - {when: {kind: plan}, answer: {choice: approve}}
      - {when: {kind: permission, task: T-2, agent: BEN, contains: "rm -rf"}, answer: {choice: deny, note: no}, after: 5}
      - {when: {kind: permission}, answer: {choice: allow}}
    """
    found = reply_to(text, request(DecisionKind.PERMISSION))
    assert found is not None
    assert (found.choice, found.note, found.after_s) == ("deny", "no", 5)
    other = reply_to(text, request(DecisionKind.PERMISSION, agent="ada"))
    assert other is not None
    assert (other.choice, other.after_s) == ("allow", 2)


def test_nth_counts_the_requests_that_fit_the_rest_of_the_rule() -> None:
    text = """
    rules:
      - {when: {kind: plan, nth: 1}, answer: {choice: revise, note: again}}
      - {when: {kind: plan, nth: 2}, answer: {choice: approve}}
    """
    other = request(DecisionKind.PERMISSION, id="d0")
    first, second, third = (request(DecisionKind.PLAN, id=f"d{n}", version=n) for n in (1, 2, 3))
    rules = lead.load(text)
    answers = [lead.reply(rules, each, all_requests=[other, first, second, third]) for each in (first, second, third)]
    assert [each and each.choice for each in answers] == ["revise", "approve", None]


def test_what_no_rule_fits_waits_for_a_person_unless_there_is_a_default() -> None:
    assert reply_to("rules: []", request(DecisionKind.PERMISSION)) is None
    found = reply_to("default: {permission: {choice: deny}}", request(DecisionKind.PERMISSION))
    assert found is not None
    assert found.choice == "deny"


def test_an_option_is_picked_by_a_part_of_its_label() -> None:
    found = reply_to(
        "rules: [{when: {}, answer: {choice: answer, pick: [nothing like it, mock], text: go}}]", request(DecisionKind.ESCALATION)
    )
    assert found is not None
    assert found.data == {"text": "go", "option": "Mock the API"}


def test_a_pick_that_is_not_on_offer_is_sent_as_it_is_so_that_the_refusal_names_it() -> None:
    found = reply_to("rules: [{when: {}, answer: {choice: answer, pick: Retire}}]", request(DecisionKind.ESCALATION))
    assert found is not None
    assert found.data["option"] == "Retire"


def test_questions_get_what_was_picked_and_several_where_several_may_be_chosen() -> None:
    several = {**PAYLOADS[DecisionKind.QUESTION]["questions"][0], "question": "Which ones?", "multiSelect": True}
    asked = request(DecisionKind.QUESTION, questions=[*PAYLOADS[DecisionKind.QUESTION]["questions"], several])
    found = reply_to("rules: [{when: {}, answer: {choice: answer, pick: [iso, symbol]}}]", asked)
    assert found is not None
    assert found.data["answers"] == {
        "Which currency format should the invoices use?": "ISO code",
        "Which ones?": ["ISO code", "Symbol"],
    }


def test_a_failed_attempt_is_reassigned_by_its_rule() -> None:
    rules = lead.load(
        "rules: [{on_failed: {task: pay*, attempt: 1}, reassign: {to: ada, guidance: Read first., start: last}, after: 3}]"
    )
    found = lead.reassignment(rules, task=("payment-api", "T-2", "Payment API"), attempt=1)
    assert found is not None
    assert (found[0].to, found[0].guidance, found[0].start, found[1]) == ("ada", "Read first.", "last", 3)
    assert lead.reassignment(rules, task=("payment-api",), attempt=2) is None
    assert lead.reassignment(rules, task=("schema",), attempt=1) is None
