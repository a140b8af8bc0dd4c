"""`manage.py decide`: what waits, what is asked, and the answers in every form."""

from typing import Any

import pytest

from tasks_app.decision_kinds.base import payload_hash
from tasks_app.domain.statuses import DecisionKind
from tests.factories import PAYLOADS, DecisionFactory, RunFactory, TaskFactory, TeamFactory
from tests.management.commands import run, run_json

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask() -> Any:
    team = TeamFactory(slug="billing", name="Billing")

    def _ask(kind: DecisionKind, **payload: Any) -> Any:
        facts = {**PAYLOADS[kind], **payload}
        run = RunFactory(task=TaskFactory(team=team, in_progress=True))
        return DecisionFactory(run=run, kind=kind.value, payload=facts, payload_hash=payload_hash(facts))

    return _ask


def test_nothing_waits() -> None:
    assert run("decide") == (0, "Nothing waits for you.\n", "")


def test_what_waits_is_listed_with_its_id(ask: Any) -> None:
    first, second = ask(DecisionKind.PERMISSION), ask(DecisionKind.PLAN)
    code, out, _ = run("decide")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == [first.pk, second.pk]
    code, rows = run_json("decide", "--team", "billing")
    assert {row["kind"] for row in rows} == {"permission", "plan"}


def test_a_request_is_shown_with_what_can_be_answered(ask: Any) -> None:
    code, out, _ = run("decide", ask(DecisionKind.ESCALATION).pk)
    assert code == 0
    assert "The payment API answers 401 to every call." in out
    assert "- Mock the API: Tests run without the network.  (recommended)" in out
    assert "Answer with --choice: answer" in out


@pytest.mark.parametrize(
    ("kind", "options", "choice", "answer"),
    [
        (DecisionKind.PERMISSION, ["--allow"], "allow", {}),
        (DecisionKind.PERMISSION, ["--allow-rule"], "allow_rule", {}),
        (DecisionKind.PERMISSION, ["--deny", "--note", "no"], "deny", {}),
        (DecisionKind.PLAN, ["--approve"], "approve", {}),
        (DecisionKind.PLAN, ["--revise", "--note", "smaller"], "revise", {}),
        (
            DecisionKind.PLAN,
            ["--choice", "approve_changes", "--data", '{"plan": "# Mine"}'],
            "approve_changes",
            {"plan": "# Mine"},
        ),
        (
            DecisionKind.QUESTION,
            ["--pick", "iso"],
            "answer",
            {"answers": {"Which currency format should the invoices use?": "ISO code"}},
        ),
        (
            DecisionKind.QUESTION,
            ["--text", "Roman"],
            "answer",
            {"answers": {"Which currency format should the invoices use?": "Roman"}},
        ),
        (DecisionKind.ESCALATION, ["--pick", "Mock", "--text", "go"], "answer", {"option": "Mock the API", "text": "go"}),
        (DecisionKind.BUDGET, ["--choice", "raise", "--data", '{"usd": "2.50"}'], "raise", {"usd": "2.50"}),
        (DecisionKind.STALL, ["--choice", "wait"], "wait", {}),
    ],
)
def test_every_kind_is_answered(ask: Any, kind: DecisionKind, options: list[str], choice: str, answer: dict[str, Any]) -> None:
    decision = ask(kind)
    code, out, err = run("decide", decision.pk, *options)
    assert (code, err) == (0, "")
    decision.refresh_from_db()
    assert (decision.status, decision.choice, decision.answered_by) == ("answered", choice, "lead")
    assert {name: decision.answer[name] for name in answer} == answer


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        (DecisionKind.PERMISSION, ["--allow", "--deny"], "do not go together"),
        (DecisionKind.PERMISSION, ["--choice", "yes"], "is not an answer here"),
        (DecisionKind.PERMISSION, ["--note", "hm"], "Say what you decide"),
        (DecisionKind.PERMISSION, ["--allow", "--data", "{"], "not JSON"),
        (DecisionKind.PERMISSION, ["--allow", "--data", "[]"], "JSON object"),
        (DecisionKind.PERMISSION, ["--allow", "--seen", "4"], "version 1 now"),
        (DecisionKind.PLAN, ["--revise"], "Say what to change"),
        (DecisionKind.QUESTION, ["--pick", "Roman"], "is not an option"),
        (DecisionKind.QUESTION, ["--choice", "answer"], "no answer"),
        (DecisionKind.ESCALATION, ["--pick", "key", "--pick", "x", "--choice", "deny"], "is not an answer here"),
        (DecisionKind.ESCALATION, ["--pick", "nothing"], "is not on offer"),
    ],
)
def test_a_bad_answer_is_refused_in_words_and_changes_nothing(
    ask: Any, kind: DecisionKind, options: list[str], said: str
) -> None:
    decision = ask(kind)
    code, _, err = run("decide", decision.pk, *options)
    assert code == 2
    assert said in err
    decision.refresh_from_db()
    assert decision.status == "open"


def test_the_second_answer_is_refused_and_names_the_first(ask: Any) -> None:
    decision = ask(DecisionKind.PERMISSION)
    assert run("decide", decision.pk, "--allow")[0] == 0
    code, _, err = run("decide", decision.pk, "--deny")
    assert code == 2
    assert "Already decided by lead" in err
    code, shown = run_json("decide", decision.pk)
    assert (shown["status"], shown["choice"]) == ("answered", "allow")


def test_an_unknown_id_is_an_error_document(ask: Any) -> None:
    code, document = run_json("decide", "dnothere0")
    assert code == 2
    assert document["error"]["code"] == "not_found"


def test_text_of_an_agent_cannot_move_the_cursor(ask: Any) -> None:
    decision = ask(DecisionKind.PLAN, plan="# Plan\x1b[2J\x1b]0;x\x07\nstep")
    _, out, _ = run("decide", decision.pk)
    assert "\x1b" not in out
    assert "step" in out
