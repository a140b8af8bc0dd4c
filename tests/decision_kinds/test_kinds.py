"""The kinds of decision: what each takes as an answer, and the words in which the agent is told."""

import json

import pytest

from tasks_app.decision_kinds import registry
from tasks_app.decision_kinds.base import ANSWERED, REPEAT, Given, payload_hash
from tasks_app.domain.errors import Invalid
from tasks_app.domain.statuses import DecisionKind
from tests.factories import PAYLOADS

QUESTION = "Which currency format should the invoices use?"
TWO = {"questions": [{"question": "One?", "options": []}, {"question": "Two?", "options": [], "multiSelect": True}]}


def check(kind, choice, *, data=None, note="", payload=None):
    return registry.get(kind).check(Given(choice, note, data or {}), payload or PAYLOADS[DecisionKind(kind)])


@pytest.mark.parametrize("kind", list(DecisionKind))
def test_every_kind_declares_all_that_is_needed(kind):
    module = registry.get(kind.value)
    assert module.CHOICES
    assert set(module.CHOICES) >= module.GRANTS
    assert module.__doc__.strip()
    title = module.title(PAYLOADS[kind], "builder-1")
    assert 0 < len(title) <= 300
    assert module.title({}, "builder-1"), "a title for whatever came"


def test_a_file_of_the_working_folder_is_named_from_there_and_any_other_in_full():
    title = registry.get("permission").title
    call = {"tool": "Write", "input": {"file_path": "/srv/atlas/docs/a.md"}}
    assert title({**call, "cwd": "/srv/atlas"}, "ann") == "ann wants to use Write: docs/a.md"
    assert title({**call, "cwd": "/srv/at"}, "ann") == title(call, "ann") == "ann wants to use Write: /srv/atlas/docs/a.md"


def test_every_answer_has_one_word_for_people_whatever_kind_it_belongs_to():
    for kind in DecisionKind:
        for choice, word in registry.get(kind.value).CHOICES.items():
            assert registry.choice_word(choice) == word, "two kinds say the same answer in different words"
            assert "_" not in word
    assert registry.choice_word("") == "closed"


def test_an_unknown_kind_is_an_error():
    with pytest.raises(ValueError, match="wish"):
        registry.get("wish")


def test_only_a_permission_and_a_review_grant_a_call():
    assert {k: sorted(registry.get(k.value).GRANTS) for k in DecisionKind if registry.get(k.value).GRANTS} == {
        DecisionKind.PERMISSION: ["allow", "allow_rule"],
        DecisionKind.REVIEW: ["approve"],
    }


GOOD = [
    ("permission", "allow", {}, "", {}),
    ("permission", "allow_rule", {}, "", {}),
    ("permission", "deny", {}, "Not here.", {}),
    ("plan", "approve", {"plan": "ignored"}, "", {}),
    ("plan", "approve_changes", {"plan": " # New "}, "", {"plan": "# New"}),
    ("plan", "revise", {}, "Smaller.", {}),
    ("question", "answer", {"answers": {QUESTION: " ISO code "}}, "", {"answers": {QUESTION: "ISO code"}}),
    ("question", "answer", {"answers": {QUESTION: ["A", " ", "B"]}}, "", {"answers": {QUESTION: ["A", "B"]}}),
    ("question", "dismiss", {}, "", {}),
    ("escalation", "answer", {"option": "Mock the API"}, "", {"option": "Mock the API", "text": ""}),
    ("escalation", "answer", {"text": "Do it by hand."}, "", {"option": "", "text": "Do it by hand."}),
    ("escalation", "answer", {}, "Only a note.", {"option": "", "text": ""}),
    ("budget", "raise", {"usd": "10.50"}, "", {"usd": "10.50"}),
    ("budget", "smaller_model", {"usd": "x"}, "", {}),
    ("budget", "stop", {}, "", {}),
    ("stall", "wait", {"x": 1}, "", {}),
    ("review", "approve", {"x": 1}, "Nice.", {}),
    ("review", "revise", {}, "Shorter.", {}),
]


@pytest.mark.parametrize(("kind", "choice", "data", "note", "stored"), GOOD)
def test_a_good_answer_is_stored_without_what_does_not_belong_to_it(kind, choice, data, note, stored):
    given = check(kind, choice, data=data, note=note)
    assert (given.choice, given.note, dict(given.data)) == (choice, note, stored)


BAD = [
    ("permission", "allow_rule", {}, {**PAYLOADS[DecisionKind.PERMISSION], "rule": None}, "choice", "No rule is offered"),
    ("plan", "revise", {}, None, "note", "Say what to change"),
    ("review", "revise", {}, None, "note", "Say what to change"),
    ("plan", "approve_changes", {"plan": "  "}, None, "plan", "empty"),
    ("plan", "approve_changes", {}, None, "plan", "empty"),
    (
        "plan",
        "approve_changes",
        {"plan": "\r\n1. Do it  \r\n2. Test⟨U+001B⟩[0m"},
        {"plan": "1. Do it\n2. Test\x1b[0m\n"},
        "plan",
        "Nothing in the plan",
    ),
    ("question", "answer", {}, None, "answers[0]", "has no answer"),
    ("question", "answer", {"answers": {QUESTION: "  "}}, None, "answers[0]", "has no answer"),
    ("question", "answer", {"answers": {QUESTION: []}}, None, "answers[0]", "has no answer"),
    ("question", "answer", {"answers": {"One?": "x"}}, TWO, "answers[1]", "“Two\\?” has no answer"),
    ("question", "answer", {"answers": "ISO code"}, None, "answers", "by question"),
    ("question", "answer", {"answers": ["ISO code"]}, None, "answers", "by question"),
    ("escalation", "answer", {}, None, "option", "Choose an option or write"),
    ("escalation", "answer", {"option": "Nuke it"}, None, "option", "not one of the options: Mock the API, Wait for a key"),
    ("escalation", "answer", {"option": "x"}, {"options": []}, "option", "none are offered"),
    ("budget", "raise", {}, None, "usd", "how many USD"),
    ("budget", "raise", {"tokens": 5}, None, "usd", "how many USD"),
    ("budget", "raise", {"usd": "5"}, {"limit_tokens": 100}, "tokens", "how many tokens"),
    ("budget", "raise", {"tokens": "0.5"}, {"limit_tokens": 100}, "tokens", "at least 1"),
    *[
        ("budget", "raise", {"usd": v}, None, "usd", "")
        for v in ("-1", "0", "NaN", "Infinity", "x", [1], {"a": 1}, "1e99", "sNaN")
    ],
]


@pytest.mark.parametrize(("kind", "choice", "data", "payload", "field", "words"), BAD)
def test_a_bad_answer_is_refused_naming_the_field(kind, choice, data, payload, field, words):
    with pytest.raises(Invalid) as refused:
        check(kind, choice, data=data, payload=payload)
    assert field in {refused.value.field, *(p.path for p in refused.value.problems)}
    assert words.replace("\\", "") in " ".join([refused.value.message, *(map(str, refused.value.problems))])


def test_every_question_without_an_answer_is_named_at_once():
    with pytest.raises(Invalid) as refused:
        check("question", "answer", payload=TWO)
    assert [p.path for p in refused.value.problems] == ["answers[0]", "answers[1]"]


TOLD = [
    ("permission", Given("allow", "Go."), ("ALLOWED", "rm -rf build/ && make", "exactly so, once", "Go.")),
    ("permission", Given("deny", "Too risky."), ("DENIED", "Do not make it", "Too risky.")),
    ("plan", Given("approve"), ("approved your plan", "1. Add the view", "Plan mode is over")),
    ("plan", Given("approve_changes", "", {"plan": "# Other"}), ("with changes", "# Other")),
    ("plan", Given("revise", "Smaller."), ("Stay in plan mode", "ExitPlanMode", "Smaller.")),
    ("question", Given("answer", "", {"answers": {QUESTION: ["A", "B"]}}), (QUESTION, "A, B")),
    ("question", Given("dismiss"), ("did not answer", "decide yourself")),
    ("escalation", Given("answer", "n", {"option": "Mock the API", "text": "t"}), ("401", "Mock the API (Tests run", "t", "n")),
    ("budget", Given("raise"), ("raised the budget",)),
    ("budget", Given("smaller_model", "Hurry."), ("smaller model", "Hurry.")),
    ("budget", Given("stop"), ("ended this attempt",)),
    ("stall", Given("wait", "Still there?"), ("Still there?",)),
    ("review", Given("approve"), ("accepted it", "Repeat exactly the call of mcp__crew__TaskUpdate")),
    ("review", Given("revise", "Shorter."), ("sent it back", "Shorter.")),
]


@pytest.mark.parametrize(("kind", "given", "words"), TOLD)
def test_the_agent_is_told_in_words_what_was_decided(kind, given, words):
    told = registry.get(kind).tell(given, PAYLOADS[DecisionKind(kind)])
    for word in words:
        assert word in told


def test_a_call_that_was_allowed_is_told_exactly_whatever_its_characters():
    call = {"command": "echo “漢” \\ \n'x'", "n": 1}
    told = registry.get("permission").tell(Given("allow"), {"tool": "Bash", "input": call})
    assert json.dumps(call, ensure_ascii=False, sort_keys=True) in told


def test_the_hash_is_of_what_is_shown_in_any_order_and_of_nothing_else():
    assert payload_hash({"a": 1, "b": "漢"}) == payload_hash({"b": "漢", "a": 1})
    assert payload_hash({"a": 1}) != payload_hash({"a": "1"})
    assert len(payload_hash({})) == 64


def test_the_markers_are_what_the_player_relies_on():
    assert (REPEAT.format("x"), ANSWERED.format("x")) == ("[crewdesk:repeat x]", "[crewdesk:answered x]")
