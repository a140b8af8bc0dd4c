"""On-call: what waits too long is told once, tried again with pauses when that fails, and never told when nobody must act."""

import json
from datetime import timedelta

import pytest

from tasks_app.domain.statuses import DecisionKind
from tasks_app.models import Decision, Event
from tasks_app.runners.port import Ask
from tasks_app.services import actions, decisions, oncall
from tests.services import world
from tests.services.asking import later, opened

pytestmark = pytest.mark.django_db
ORIGIN = "https://desk.example.org"


def claim(after_min=10.0):
    return oncall.claim(after_min=after_min, origin=ORIGIN)


def events_of(kind):
    return list(Event.objects.filter(kind=kind).order_by("seq"))


def test_nothing_is_told_before_the_deadline_and_once_after_it():
    _, decision = opened()
    with later(9.9):
        assert claim() is None
    with later(10.1):
        notice = claim()
        assert (notice.decision_id, notice.number) == (decision.pk, 1)
        assert claim() is None, "the try is under way"
        oncall.told(notice)
    with later(600):
        assert claim() is None
    stored = Decision.objects.get()
    assert stored.notified_at - stored.opened_at > timedelta(minutes=10)
    assert [event.data for event in events_of("decision.notified")] == [{"kind": "permission", "tries": 1}]
    assert f"decision:{decision.pk}" in events_of("decision.notified")[0].keys


@pytest.mark.django_db(transaction=True)
def test_of_workers_that_look_at_the_same_moment_one_gets_the_try():
    opened()
    Decision.objects.update(opened_at=world.now() - timedelta(minutes=11))
    found = world.at_once(6, lambda _: claim())
    assert len([notice for notice in found if isinstance(notice, oncall.Notice)]) == 1
    assert found.count(None) == 5, found
    assert Decision.objects.get().notify_tries == 1


def test_a_failed_try_is_repeated_with_longer_pauses_and_given_up_in_the_end():
    opened()
    at, seen = 10.0, []
    for pause_s in (*oncall.PAUSES_S, 100_000):
        with later(at + 0.1):
            notice = claim()
            oncall.failed(notice, why="it answered 503")
            seen.append(notice.number)
        with later(at + pause_s / 60 - 0.1):
            assert claim() is None
        at += pause_s / 60 + 0.1
    assert seen == [1, 2, 3, 4, 5]
    stored = Decision.objects.get()
    assert (stored.notified_at, stored.notify_error, stored.notify_next_at) == (None, "it answered 503", None)
    failures = events_of("decision.notify_failed")
    assert [event.data["tries"] for event in failures] == [1, 2, 3, 4, 5]
    assert failures[0].data["why"] == "it answered 503"


def test_a_worker_that_dies_while_it_tells_leaves_the_try_counted_and_due_again():
    opened()
    with later(11):
        assert claim().number == 1
    assert Decision.objects.get().notify_error == oncall.UNRECORDED
    with later(13):
        assert claim().number == 2


def test_a_result_that_comes_after_the_next_try_began_changes_nothing():
    opened()
    with later(11):
        slow = claim()
    with later(13):
        quick = claim()
        oncall.told(quick)
        told_at = Decision.objects.get().notified_at
        oncall.failed(slow, why="no answer within 10 s")
        oncall.told(slow)
    assert (Decision.objects.get().notified_at, Decision.objects.get().notify_error) == (told_at, "")
    assert not events_of("decision.notify_failed")
    assert len(events_of("decision.notified")) == 1


@pytest.mark.parametrize("end", ["answered", "withdrawn", "expired", "snoozed"])
def test_what_needs_nobody_any_more_or_was_put_aside_is_not_told(end):
    _, decision = opened()
    if end == "answered":
        world.answer(decision, "deny")
    elif end == "withdrawn":
        decisions.withdraw(decision.pk, why="its run ended")
    elif end == "expired":
        Decision.objects.update(status="expired")
    else:
        actions.snooze(decision.pk, minutes=30, actor="user:lead")
    with later(20):
        assert claim() is None
    with later(31):
        assert (claim() is not None) is (end == "snoozed"), "a snooze ends"


def test_the_oldest_is_told_first_and_each_gets_its_own_notice():
    held, first = opened()
    second = decisions.open_for_run(held.id, held.fence, world.ask(tool_use_id="toolu_2", input={"command": "make docs"}))
    with later(11):
        assert [claim().decision_id, claim().decision_id, claim()] == [first.pk, second.pk, None]


def test_the_notice_says_who_waits_since_when_and_where_to_answer_and_nothing_of_the_tools_input():
    crew = world.make(name="Billing")
    held = crew.claim()
    ask = Ask(DecisionKind.PERMISSION, {"tool": "Bash", "input": {"command": "deploy --prod"}}, "toolu_1", "Check the <API>")
    decision = decisions.open_for_run(held.id, held.fence, ask)
    with later(12.5):
        document = claim().document
    assert document == {
        "text": f"Billing: builder-1’s sub-agent “Check the &lt;API&gt;” wants to use Bash (waiting for 12 min) "
        f"https://desk.example.org/inbox/{decision.pk}/",
        "kind": "permission",
        "title": "builder-1’s sub-agent “Check the <API>” wants to use Bash",
        "team": "Billing",
        "task": "T-1",
        "agent": "builder-1",
        "subagent": "Check the <API>",
        "opened_at": Decision.objects.get().opened_at.isoformat(timespec="seconds"),
        "age_s": 750,
        "link": f"https://desk.example.org/inbox/{decision.pk}/",
        "rehearsal": False,
    }
    assert "deploy" not in json.dumps(document)


def test_secrets_are_masked_a_rehearsal_says_so_and_agents_cannot_mention_everybody():
    key = "sk-ant-api03-" + "a" * 40
    crew = world.make(rehearsal=True)
    opened(crew, DecisionKind.ESCALATION, problem=f"<!channel> {key} <https://evil.example|Answer here>", options=[])
    Decision.objects.update(subagent=key)
    with later(200):
        document = claim().document
    assert "a" * 40 not in json.dumps(document)
    assert document["text"].startswith("[Rehearsal] ")
    assert "&lt;!channel&gt;" in document["text"]
    assert "<" not in document["text"]
    assert "waiting for 3 h" in document["text"]


def test_on_call_is_quiet_while_somebody_looks_and_told_when_that_is_over():
    _, decision = opened()
    with later(20):
        actions.look(decision.pk, actor="user:lead")
        assert claim() is None
        Decision.objects.update(looked_at=world.now() - timedelta(minutes=11))
        assert claim() is not None
