"""Every event is one plain sentence: who did what to which thing, with the answer or the reason."""

import datetime as dt
import re
from typing import Any

import pytest

from tasks_app.decision_kinds import registry
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import DecisionKind, Reason
from tasks_app.selectors import asked_sentences, journal, sentences
from tasks_app.selectors.journal import Entry, Request
from tests import factories as make

AT = dt.datetime(2026, 3, 1, 10, 20, 30, tzinfo=dt.UTC)
IDS = {"run": "a7k20xq9f", "decision": "d1k9x0a2b"}
DATA: dict[EventKind, dict[str, Any]] = {
    EventKind.TEAM_STARTED: {"name": "Billing", "tasks": 5, "agents": 1, "rehearsal": True},
    EventKind.TEAM_IMPORTED: {"name": "Billing", "exported_at": "2026-03-01T10:20:30+00:00", "left_out": "T-3, T-7"},
    EventKind.TASK_CREATED: {"title": "Payment API", "waits_for": ["T-1", "T-2"]},
    EventKind.TASK_EDITED: {"fields": ["budget_usd", "depends_on", "assignee_id"]},
    EventKind.TASK_CLAIMED: {"agent": "ada", "run": "a7k20xq9f", "attempt": 2},
    EventKind.TASK_COMPLETED: {"by": "ada", "evidence": {"Tests pass": "12 passed"}, "while_blocked_by": ""},
    EventKind.TASK_RELEASED: {"reason": "rate_limited", "detail": "", "attempt": 2},
    EventKind.TASK_REASSIGNED: {"to": "ben", "guidance": "Read the docs.", "start": "last"},
    EventKind.RUN_STARTED: {"fence": 3, "worker": "host:1:boot", "resumed": True},
    EventKind.RUN_STEPS: {"first": 4, "last": 9},
    EventKind.RUN_PARKED: {"reason": "worker_lost"},
    EventKind.RUN_RESUMABLE: {"reason": "worker_lost"},
    EventKind.RUN_COMPLETED: {"reason": "done", "detail": ""},
    EventKind.RUN_FAILED: {"reason": "no_result", "detail": ""},
    EventKind.RUN_KILLED: {"reason": "stopped", "detail": "Stopped by lead."},
    EventKind.DECISION_OPENED: {"kind": "permission", "title": "ada wants to run: make"},
    EventKind.DECISION_ANSWERED: {"kind": "permission", "choice": "allow_rule", "by": "user:lead"},
    EventKind.DECISION_WITHDRAWN: {"kind": "permission", "why": "its run was stopped"},
    EventKind.DECISION_NOTIFY_FAILED: {"kind": "permission", "why": "The address answered 500.", "tries": 2},
    EventKind.MESSAGE_SENT: {"message": "m12345678", "sender": "ada", "recipient": "ben"},
    EventKind.MESSAGE_DELIVERED: {"message": "m12345678", "recipient": "ben"},
    EventKind.MESSAGE_REFUSED: {"sender": "ada", "recipient": "ben", "why": "too many"},
    EventKind.MESSAGE_STOPPED: {"message": "m12345678", "seconds": 0.42},
    EventKind.MESSAGE_ACTED: {"message": "m12345678", "sender": "ada"},
    EventKind.MESSAGE_MODE: {"mode": "hub", "per_minute": 10, "chain": 8},
    EventKind.CONTEXT_SHARED: {"name": "schema", "version": 2},
    EventKind.CHECKPOINT_SAVED: {"name": "before the merge", "checkpoint": "k12345678"},
    EventKind.CHECKPOINT_RESTORED: {"name": "before the merge", "changes": "2 tasks go back to the queue"},
    EventKind.CHECKPOINT_DELETED: {"name": "before the merge"},
    EventKind.TASK_UNDONE: {"what": "cancelled"},
    EventKind.BUDGET_LEVEL: {"scope": "task", "level": "wrap_up", "used": 4.1, "limit": 5, "unit": "usd"},
    EventKind.BUDGET_CHANGED: {"scope": "task", "new": "+5 USD"},
    EventKind.NOTE: {"text": "snoozed for 15 min"},
}


def entry(kind: str, /, *, actor: str = "user:lead", **changes: Any) -> Entry:
    facts: dict[str, Any] = {
        "data": {}, "team": "Billing", "team_slug": "billing", "task": "T-3", "task_pk": 3, "task_title": "Payment API",
        "allowed": 3, "agent": "ada", "agent_pk": 1,
    }  # fmt: skip
    return Entry(7, kind, AT, actor, **(facts | changes))


def said(kind: str, /, **changes: Any) -> str:
    return sentences.text(entry(kind, **changes))


def test_every_kind_of_event_has_a_sentence() -> None:
    assert set(sentences.SENTENCES) == set(EventKind)


@pytest.mark.parametrize("kind", list(EventKind))
@pytest.mark.parametrize("reason", list(Reason))
def test_no_sentence_shows_an_id_or_a_code_word_alone(kind: EventKind, reason: Reason) -> None:
    data = DATA.get(kind, {})
    data = data | ({"reason": reason.value} if "reason" in data else {})
    asked = Request("permission", "ada wants to run: make", "allow", tool="Bash", target="make", rule="Bash(make:*)")
    words = said(kind, data=data, run=IDS["run"], decision=IDS["decision"], request=asked, message="The schema is ready.")
    assert len(words.split()) >= 4
    assert not re.search(r"\w_\w|\b[admk][0-9a-z]{8}\b|host:1", words), words
    assert kind.value == "note" or kind.value not in words
    assert "{" not in words
    assert not words.endswith((".", ":"))


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_kind_is_told_when_nothing_else_is_known(kind: EventKind) -> None:
    bare = Entry(7, kind, AT, "system", {})
    assert len(sentences.text(bare).split()) >= 3
    assert "None" not in sentences.text(bare)


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        (
            EventKind.TASK_CREATED,
            {"data": {"title": "Payment API", "waits_for": ["T-1", "T-2"]}},
            "Lead added T-3 Payment API, to start after T-1, T-2",
        ),
        (EventKind.TASK_CREATED, {"data": {"title": "x", "depends_on": [17, 18]}}, "Lead added T-3 Payment API"),
        (EventKind.TASK_CREATED, {"data": {"title": "x", "waits_for": 17}}, "Lead added T-3 Payment API"),
        (EventKind.TASK_CLAIMED, {"data": {"attempt": 2}}, "ada took T-3 Payment API (attempt 2 of 3)"),
        (
            EventKind.TASK_RELEASED,
            {"data": {"reason": "auth", "detail": "API said 401.", "attempt": 2}},
            "T-3 Payment API went back to the queue: failed, API said 401 (attempt 2 of 3)",
        ),
        (
            EventKind.TASK_RELEASED,
            {"data": {"reason": "stopped", "detail": "Stopped by anna.", "attempt": 1}},
            "T-3 Payment API went back to the queue: Stopped by anna (attempt 1 of 3)",
        ),
        (
            EventKind.RUN_FAILED,
            {"data": {"reason": "start_failed"}, "attempt": 1},
            "ada failed on T-3 Payment API (attempt 1 of 3): Claude Code did not start",
        ),
        (
            EventKind.TASK_COMPLETED,
            {"data": {"by": "lead", "evidence": {"by hand": "x"}}},
            "Lead completed T-3 Payment API by hand",
        ),
        (
            EventKind.TASK_COMPLETED,
            {"actor": "system", "data": {"by": "ada", "evidence": {"a": "b"}}},
            "ada completed T-3 Payment API, with evidence for 1 criterion",
        ),
        (
            EventKind.NOTE,
            {"actor": "agent:ada", "data": {"text": "reports: pending"}},
            "ada reported T-3 Payment API as not done",
        ),
        (
            EventKind.BUDGET_LEVEL,
            {"data": DATA[EventKind.BUDGET_LEVEL]},
            "ada has used $4.10 of $5.00 (82 %), the budget of the task, and is told to wrap up",
        ),
        (
            EventKind.BUDGET_LEVEL,
            {"data": {"scope": "run", "level": "used_up", "used": 5.25, "limit": 5, "over": 0.25, "unit": "usd"}},
            "ada has used $5.25 of $5.00 (105 %, over by $0.25), the budget of the attempt, and stops until the lead has decided",
        ),
        (
            EventKind.BUDGET_CHANGED,
            {"data": {"scope": "team", "new": "+5 USD"}},
            "Lead raised the budget of the team Billing by 5 USD",
        ),
        (EventKind.RUN_STEPS, {"data": {"first": 8, "last": 8}}, "ada worked: step 8"),
        (
            EventKind.MESSAGE_SENT,
            {"actor": "agent:ada", "data": DATA[EventKind.MESSAGE_SENT], "message": "Ready.\nGo"},
            "ada wrote to ben: Ready. Go",
        ),
        ("from.later", {}, "Lead did something that this version has no words for on T-3 Payment API"),
    ],
)
def test_what_happened_is_told_with_its_facts(kind: str, changes: dict[str, Any], words: str) -> None:
    assert said(kind, **changes) == words


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (
            Request("permission", choice="allow", tool="Bash", target="pytest"),
            "Lead allowed `Bash(pytest)` once for ada on T-3 Payment API",
        ),
        (
            Request("permission", choice="allow_rule", tool="Bash", target="make all", rule="Bash(make:*)"),
            "Lead allowed `Bash(make:*)` for all of T-3 Payment API; ada had asked for `Bash(make all)`",
        ),
        (
            Request("permission", choice="deny", note="Not in the repository.", tool="Write", target="/etc/x"),
            "Lead denied `Write(/etc/x)` to ada on T-3 Payment API: Not in the repository",
        ),
        (Request("plan", choice="revise", note="Smaller"), "Lead sent back ada’s plan for T-3 Payment API: Smaller"),
        (
            Request("question", choice="answer", answer={"answers": {"Which?": ["ISO", "Sign"]}}),
            "Lead answered ada on T-3 Payment API: ISO, Sign",
        ),
        (
            Request("question", choice="answer", answer={"answers": {"Which?": "ISO", "Who?": "Both"}}, note="Go"),
            "Lead answered ada on T-3 Payment API: Which? ISO – Who? Both – Go",
        ),
        (
            Request("escalation", choice="answer", answer={"option": "Mock the API", "text": "and say so"}),
            "Lead decided for ada on T-3 Payment API: Mock the API – and say so",
        ),
        (
            Request("budget", choice="raise", answer={"usd": "5"}, scope="task"),
            "Lead raised the budget of the task by $5 for ada on T-3 Payment API",
        ),
        (Request("stall", choice="wait"), "Lead let the quiet ada go on on T-3 Payment API"),
    ],
)
def test_an_answer_is_told_with_what_was_answered(request_: Request, words: str) -> None:
    assert said(EventKind.DECISION_ANSWERED, request=request_) == words


def test_every_choice_of_every_kind_is_told_in_its_own_words() -> None:
    assert set(asked_sentences.ANSWERED) == {(kind, choice) for kind in DecisionKind for choice in registry.get(kind).CHOICES}
    assert set(asked_sentences.REQUESTS) == set(DecisionKind)


def test_what_the_system_asks_names_the_task_once() -> None:
    asked = Request("escalation", "T-3 Payment API failed after attempt 1 of 3: 401.")
    words = said(EventKind.DECISION_OPENED, agent="", actor="system", request=asked)
    assert words == "Crewdesk asked the lead what to do with T-3 Payment API: failed after attempt 1 of 3: 401"


def test_hostile_text_is_a_harmless_line_without_secrets_and_never_a_template() -> None:
    words = said(EventKind.TASK_CANCELLED, data={"why": "a\x1b[2Jb\nc\u202ed {who} token=abcdef0123456789abcdef " + "x" * 5000})
    assert not {"\x1b", "\n", "\u202e"} & set(words)
    assert "{who}" in words
    assert "abcdef0123456789" not in words
    assert len(words) < 400


def test_a_sentence_names_what_a_page_can_link() -> None:
    asked = Request("permission", choice="allow", tool="Bash", target="pytest")
    parts = sentences.sentence(entry(EventKind.DECISION_ANSWERED, request=asked))
    assert [(part.kind, part.key) for part in parts if part.kind] == [("code", ""), ("agent", 1), ("task", 3)]


@pytest.mark.parametrize(
    ("kind", "title"),
    [("plan", "ada proposes a plan"), ("budget", "ada has used up the budget"), ("stall", "ada has been quiet")],
)
def test_who_asks_is_named_so_that_a_page_can_link_it(kind: str, title: str) -> None:
    asked = entry(EventKind.DECISION_OPENED, request=Request(kind, title))
    parts = sentences.sentence(asked)
    assert (parts[0].text, parts[0].kind, parts[0].key) == ("ada", "agent", 1)
    assert sentences.text(asked) == f"{title} {'for' if kind == 'plan' else 'on'} T-3 Payment API"


def test_what_a_sentence_has_no_room_for_is_kept_beside_it_without_secrets() -> None:
    note = entry(EventKind.NOTE, data={"text": "word " * 60 + "password=hunter2 last"})
    cut = sentences.sentence(note)[-1]
    assert cut.text.endswith("…")
    assert cut.whole.endswith("password=*** last")
    assert sentences.text(note, whole=True).endswith("password=*** last")
    assert not any(part.whole for part in sentences.sentence(entry(EventKind.NOTE, data={"text": "short"})))


@pytest.mark.django_db
@pytest.mark.parametrize(("failed", "said"), [(1, "(attempt 2 of 3)"), (0, "(attempt 2)")])
def test_an_attempt_that_does_not_count_is_none_of_those_that_are_allowed(failed: int, said: str) -> None:
    task = make.TaskFactory(number=3, title="Payment API", in_progress=True, attempts=failed)
    make.RunFactory(task=task, attempt=1, status="failed" if failed else "killed")
    run = make.RunFactory(task=task, attempt=2)
    event = make.EventFactory(team=task.team, kind="task.claimed", task_number=3, run_id=run.pk, data={"attempt": 2})
    assert sentences.text(journal.named([event])[0]).endswith(said)


@pytest.mark.django_db
def test_the_names_are_read_in_a_constant_number_of_queries(django_assert_max_num_queries: Any) -> None:
    run = make.RunFactory(task__title="Payment API", task__number=3, agent__name="ada", attempt=2)
    decision = make.DecisionFactory(run=run, status="answered", choice="allow")
    message = make.MessageFactory(team=run.team, body="Ready")
    for _ in range(3):
        make.EventFactory(
            team=run.team,
            kind=EventKind.DECISION_ANSWERED,
            actor="user:lead",
            task_number=3,
            run_id=run.pk,
            agent_id=run.agent_id,
            decision_id=decision.pk,
        )
        make.EventFactory(team=run.team, kind=EventKind.MESSAGE_SENT, data={"message": message.pk, "recipient": "ben"})
    with django_assert_max_num_queries(7):
        found = journal.entries(run.team_id, after=0)
    assert sentences.text(found[0]) == "Lead allowed `Bash(rm -rf build/ && make)` once for ada on T-3 Payment API"
    assert sentences.text(found[-1]).endswith("wrote to ben: Ready")
    assert (found[0].attempt, found[0].team_slug) == (2, run.team.slug)
