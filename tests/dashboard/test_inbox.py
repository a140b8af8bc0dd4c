"""The inbox: seven kinds with their answers, each bound to what was shown, each given once."""

import datetime as dt
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from tasks_app.domain.statuses import DecisionKind, DecisionStatus
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of


@pytest.fixture
def ask(team):
    """Return a function that opens a decision of a kind in Atlas."""

    names = iter(["ada", "ben", "cleo"])

    def open_(kind=DecisionKind.PERMISSION, **words):
        run = make.RunFactory(task__team=team, agent__team=team, agent__name=next(names))
        return make.DecisionFactory(run=run, kind=kind.value, **words)

    return open_


@pytest.fixture
def answer(desk):
    """Return a function that answers a decision as its form does."""

    def post(decision, client=desk, **fields):
        seen = {"version": decision.version, "payload_hash": decision.payload_hash}
        response = client.post(reverse("decision-answer", args=[decision.pk]), {**seen, **fields})
        decision.refresh_from_db()
        return response

    return post


def page(client, decision):
    return client.get(reverse("inbox-detail", args=[decision.pk]))


QUESTION = "Which currency format should the invoices use?"
GOOD = [
    (DecisionKind.PERMISSION, {"choice": "allow"}, {}),
    (DecisionKind.PERMISSION, {"choice": "allow_rule"}, {}),
    (DecisionKind.PERMISSION, {"choice": "deny", "note": "Keep build/cache."}, {}),
    (DecisionKind.PLAN, {"choice": "approve", "plan": make.PAYLOADS[DecisionKind.PLAN]["plan"].replace("\n", "\r\n")}, {}),
    (DecisionKind.PLAN, {"choice": "approve_changes", "plan": "1. Only this\r\n"}, {"plan": "1. Only this"}),
    (DecisionKind.PLAN, {"choice": "revise", "note": "Add tests."}, {}),
    (DecisionKind.QUESTION, {"choice": "answer", "q0": "1"}, {"answers": {QUESTION: "Symbol"}}),
    (
        DecisionKind.QUESTION,
        {"choice": "answer", "q0_text": "as in the contract"},
        {"answers": {QUESTION: "as in the contract"}},
    ),
    (DecisionKind.QUESTION, {"choice": "dismiss"}, {}),
    (DecisionKind.ESCALATION, {"choice": "answer", "option": "0", "text": "A"}, {"option": "Mock the API", "text": "A"}),
    (DecisionKind.ESCALATION, {"choice": "answer", "option": "", "text": "Ask finance."}, {"option": "", "text": "Ask finance."}),
    (DecisionKind.BUDGET, {"choice": "raise", "usd": "$2,50"}, {"usd": "2.50"}),
    (DecisionKind.BUDGET, {"choice": "smaller_model"}, {}),
    (DecisionKind.BUDGET, {"choice": "stop"}, {}),
    *((DecisionKind.STALL, {"choice": choice}, {}) for choice in ("wait", "retry")),
    (DecisionKind.REVIEW, {"choice": "approve"}, {}),
    (DecisionKind.REVIEW, {"choice": "revise", "note": "Shorter."}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fields", "data"), GOOD, ids=[f"{kind}-{fields['choice']}" for kind, fields, _ in GOOD])
def test_each_kind_takes_each_of_its_answers(ask, answer, kind, fields, data):
    decision = ask(kind)
    response = answer(decision, **fields)
    assert response.status_code == 302, words_of(response)
    assert decision.status == DecisionStatus.ANSWERED
    assert (decision.choice, decision.answer) == (fields["choice"], data)
    assert decision.note == fields.get("note", "")
    assert "anna" in decision.answered_by


PLAN_TEXT = make.PAYLOADS[DecisionKind.PLAN]["plan"]
BAD = [
    (DecisionKind.PERMISSION, {}, "Choose an answer."),
    (DecisionKind.PERMISSION, {"choice": "approve"}, ""),
    (DecisionKind.PLAN, {"choice": "revise"}, "Say what to change"),
    (DecisionKind.REVIEW, {"choice": "revise"}, "Say what to change"),
    (DecisionKind.PLAN, {"choice": "approve_changes", "plan": "  "}, "The changed plan is empty."),
    (
        DecisionKind.PLAN,
        {"choice": "approve_changes", "plan": PLAN_TEXT.replace("\n", "\r\n")},
        "Nothing in the plan was changed.",
    ),
    (DecisionKind.QUESTION, {"choice": "answer"}, "has no answer. Choose an option or write one."),
    (DecisionKind.ESCALATION, {"choice": "answer"}, "Choose an option or write what to do."),
    (DecisionKind.ESCALATION, {"choice": "answer", "option": "Delete all"}, "is not one of the options"),
    (DecisionKind.BUDGET, {"choice": "raise", "usd": "lots"}, "The amount is not a number."),
    (DecisionKind.BUDGET, {"choice": "raise", "usd": "-1"}, "The amount must be at least"),
]


@pytest.mark.parametrize(("kind", "fields", "words"), BAD)
def test_an_answer_that_cannot_be_taken_says_why_and_changes_nothing(ask, answer, kind, fields, words):
    decision = ask(kind)
    response = answer(decision, **fields)
    assert response.status_code == 422
    assert words in words_of(response)
    assert html_of(response).count('role="alert"') == 1
    assert decision.status == DecisionStatus.OPEN


@pytest.mark.parametrize(
    ("kind", "fields", "place"),
    [
        (DecisionKind.PLAN, {"choice": "approve_changes", "plan": PLAN_TEXT}, "plan"),
        (DecisionKind.PLAN, {"choice": "revise"}, "note"),
        (DecisionKind.QUESTION, {"choice": "answer"}, "answers-0-"),
        (DecisionKind.BUDGET, {"choice": "raise", "usd": "lots"}, "usd"),
    ],
)
def test_what_is_wrong_with_a_field_is_said_there_and_read_with_it(ask, answer, kind, fields, place):
    html = html_of(answer(ask(kind), **fields))
    assert f'<p class="error" id="error-{place}" role="alert">' in html
    assert f'aria-invalid="true" aria-describedby="error-{place}"' in html


def test_a_note_that_is_too_long_gets_413_in_words(ask, answer):
    decision = ask()
    response = answer(decision, choice="deny", note="🚀é漢" * 7_000)
    assert response.status_code == 413
    assert "The text has 21,000 characters; at most 20,000 are taken." in words_of(response)
    assert decision.status == DecisionStatus.OPEN


@pytest.mark.parametrize(
    ("choice", "words"), [("approve", "take your changes back."), ("revise", "in the comments what to change")]
)
def test_a_plan_that_was_edited_is_not_answered_without_its_changes(ask, answer, choice, words):
    decision = ask(DecisionKind.PLAN)
    response = answer(decision, choice=choice, plan="1. Only this", note="Smaller.")
    assert response.status_code == 422
    assert decision.status == DecisionStatus.OPEN
    assert "You changed the plan, and this button would not send your text." in words_of(response)
    assert words in words_of(response)
    assert ">1. Only this</textarea>" in html_of(response)


def test_a_refused_answer_keeps_what_was_typed(ask, answer):
    decision = ask(DecisionKind.PLAN)
    html = html_of(answer(decision, choice="approve_changes", plan="", note="my long thoughts"))
    assert "my long thoughts</textarea>" in html
    assert re.search(r'name="plan"[^>]*></textarea>', html), "also that it was emptied"
    question = ask(DecisionKind.QUESTION, payload={"questions": [_question("A?"), _question("B?")]})
    html = html_of(answer(question, choice="answer", q0="0", q1_text=""))
    assert 'name="q0" value="0" checked' in html


def _question(text, multi=False):
    options = [{"label": label, "description": ""} for label in ("Yes", "No")]
    return {"question": text, "header": "", "options": options, "multiSelect": multi}


def test_a_question_takes_several_answers_and_free_text_with_them(ask, answer):
    decision = ask(DecisionKind.QUESTION, payload={"questions": [_question("A?", multi=True), _question("B?")]})
    answer(decision, choice="answer", q0=["Yes", "No"], q0_text="and more", q1="Yes", q1_text="mostly")
    assert decision.answer == {"answers": {"A?": ["Yes", "No", "and more"], "B?": "Yes (mostly)"}}


def test_the_second_answer_is_refused_and_names_the_first(ask, answer, browser_of, team):
    decision = ask()
    other = make.TeamAccessFactory(team=team, user__username="ben").user
    answer(decision, choice="deny", client=browser_of(other))
    response = answer(decision, choice="allow")
    assert response.status_code == 409
    text = words_of(response)
    assert "Already decided by user:ben" in text or "Already decided by ben" in text
    assert "Denied by ben" in text.replace("  ", " ")
    assert decision.choice == "deny"


def test_a_double_click_answers_once(ask, answer):
    decision = ask()
    assert answer(decision, choice="allow").status_code == 302
    response = answer(decision, choice="allow")
    assert response.status_code == 409
    assert "Allowed once by anna" in words_of(response)


@pytest.mark.parametrize("changed", [{"version": 7}, {"payload_hash": "0" * 64}])
def test_an_answer_to_what_is_no_longer_shown_is_refused(ask, answer, changed):
    decision = ask()
    response = answer(decision, choice="allow", **changed)
    assert response.status_code == 409
    assert decision.status == DecisionStatus.OPEN
    assert f'value="{decision.payload_hash}"' in html_of(response)


@pytest.mark.parametrize(("trait", "words"), [("withdrawn", "This request ended"), ("expired", "Timed out")])
def test_an_answer_after_the_request_is_gone_says_what_happened(ask, answer, desk, trait, words):
    decision = ask(**{trait: True})
    response = answer(decision, choice="allow")
    assert response.status_code == 409
    assert words in words_of(response)
    assert words in words_of(page(desk, decision))
    assert 'name="choice"' not in html_of(page(desk, decision))


def test_an_answer_for_an_id_that_never_existed_is_not_found(desk, team):
    assert desk.post(reverse("decision-answer", args=["dnope"]), {"choice": "allow"}).status_code == 404


def test_a_viewer_may_read_but_not_answer(ask, answer, watcher):
    decision = ask()
    text = words_of(page(watcher, decision))
    assert "You may watch this team; its lead answers." in text
    assert answer(decision, choice="allow", client=watcher).status_code == 403
    assert decision.status == DecisionStatus.OPEN


def test_a_stranger_learns_nothing_from_an_id(ask, answer, stranger):
    decision = ask()
    assert page(stranger, decision).status_code == 404
    assert answer(decision, choice="allow", client=stranger).status_code == 404
    assert decision.status == DecisionStatus.OPEN


def risky():
    return {**make.PAYLOADS[DecisionKind.PERMISSION], "risk": {"level": "high", "sentences": ["Deletes files elsewhere."]}}


@pytest.mark.parametrize("choice", ["allow", "allow_rule"])
def test_a_risky_call_needs_the_second_step(ask, answer, choice):
    decision = ask(payload=risky())
    response = answer(decision, choice=choice)
    assert response.status_code == 422
    assert "confirm it with the second button" in words_of(response)
    assert decision.status == DecisionStatus.OPEN
    assert answer(decision, confirm=choice).status_code == 302
    assert decision.choice == choice


def test_a_risky_call_can_be_denied_with_one_press(ask, answer):
    decision = ask(payload=risky())
    assert answer(decision, choice="deny").status_code == 302


def test_the_buttons_of_a_risky_call_stand_apart(ask, desk):
    html = html_of(page(desk, ask(payload=risky())))
    assert 'name="choice" value="deny"' in html
    assert 'name="choice" value="allow"' not in html
    assert 'name="confirm" value="allow"' in html
    assert "High risk." in html


def test_an_item_with_a_timeout_counts_down_and_says_what_follows(ask, desk):
    text = words_of(page(desk, ask(expires_at=timezone.now() + dt.timedelta(minutes=6))))
    assert "times out in 5 min 5" in text
    assert "then it is denied" in text
    assert "it waits; nothing times out" in words_of(page(desk, ask()))


def test_a_parked_item_says_that_the_answer_is_kept(ask, desk):
    assert "Parked: your answer is kept until the agent goes on." in words_of(page(desk, ask(parked=True)))


def test_after_an_answer_comes_the_next_one_and_then_nothing(ask, answer, desk):
    first, second = ask(opened_at=make.ago(minutes=9)), ask(DecisionKind.PLAN)
    assert answer(first, choice="allow")["Location"] == reverse("inbox-detail", args=[second.pk])
    response = desk.get(answer(second, choice="approve")["Location"])
    assert "Nothing waits for you. Last answer" in words_of(response)
    assert "Approved: ben proposes a plan" in words_of(response)
    assert f'id="row-{second.pk}"' not in html_of(page(desk, ask())), "what was answered is not carried to a later page"


@pytest.mark.parametrize(
    ("title", "said"), [("Stuck", "Stuck. Sent"), ("It answers 401.", "401. Sent"), ("What now?", "now? Sent")]
)
def test_what_was_answered_is_said_in_one_sentence(ask, answer, desk, title, said):
    response = answer(ask(DecisionKind.ESCALATION, title=title), choice="answer", option="0")
    assert f"{said} at once: it cannot be undone." in words_of(desk.get(response["Location"]))


def test_only_a_run_is_parked(ask, desk, team):
    ask(parked=True)
    make.DecisionFactory(run=None, team=team, kind=DecisionKind.ESCALATION.value, parked=True)
    assert html_of(desk.get(reverse("inbox"))).count('<span class="clip">parked</span>') == 1


def test_a_snoozed_item_waits_at_the_end_and_stays_counted(ask, desk):
    later, now = ask(opened_at=make.ago(minutes=9)), ask(DecisionKind.PLAN)
    response = desk.post(reverse("decision-snooze", args=[later.pk]), {"minutes": "5"})
    assert response["Location"] == reverse("inbox-detail", args=[now.pk])
    text = words_of(desk.get(response["Location"]))
    assert "2 waiting for you · 1 snoozed" in text
    assert "Snoozed; it comes back in" in words_of(page(desk, later))


@pytest.mark.parametrize("minutes", ["", "x", "-3", "99999999999999999999", "9" * 5000])
def test_nonsense_as_minutes_of_a_snooze_is_no_error_of_ours(ask, desk, minutes):
    assert desk.post(reverse("decision-snooze", args=[ask().pk]), {"minutes": minutes}).status_code in {302, 422}
