"""The four kinds of question on the real Claude Code process: answered, refused, parked and gone on with."""

import json
from typing import Any

import pytest

from tasks_app.domain.errors import Unavailable
from tasks_app.domain.statuses import DecisionKind, Reason, StepKind
from tasks_app.runners.fake_port import Answering, yes
from tasks_app.runners.port import Answer, Ask, AskWithdrawn, OutcomeKind, Parked
from tests.runners.claude.conftest import Stage, bash, call

pytestmark = pytest.mark.engine

QUESTION = {
    "question": "Which database?",
    "header": "Database",
    "multiSelect": False,
    "options": [{"label": "PostgreSQL", "description": "server"}, {"label": "SQLite", "description": "file"}],
}
ESCALATION = {
    "problem": "401 three times",
    "tried": ["key A", "key B"],
    "options": [{"label": "Use the sandbox"}, {"label": "Wait"}],
}
PLAN = "# Plan\n1. write it"


def saying(choice: str, note: str = "", **data: Any) -> Answering:
    """A lead who always answers the same."""

    async def answer(ask: Ask) -> Answer:
        return Answer(choice, note, data)

    return answer


async def parking(ask: Ask) -> Answer:
    """A lead who is asleep: the grace is over at once."""
    raise Parked


def results(stage: Stage) -> str:
    """All tool results that the agent got, in one text."""
    return "\n".join(step.text for step in stage.port.of(StepKind.TOOL_RESULT))


def resume(stage: Stage, word: str, text: str) -> str:
    """The prompt of a run that goes on after its question was decided."""
    return f"[crewdesk:{word} {stage.port.asks[-1].tool_use_id}]\n{text}"


async def test_an_allowed_call_is_made_and_shown_to_the_lead_as_it_is(stage: Stage) -> None:
    stage.script({"call": [bash("echo made > made.txt")]}, {"say": "done"})
    outcome = await stage.run(saying("allow"))
    assert (outcome.kind, outcome.reason, outcome.result) == (OutcomeKind.ENDED, Reason.DONE, "done")
    assert (stage.workspace / "made.txt").read_text() == "made\n"
    (ask,) = stage.port.asks
    assert ask.kind is DecisionKind.PERMISSION
    assert ask.payload["tool"] == "Bash"
    assert ask.payload["input"] == {"command": "echo made > made.txt", "description": "test"}
    assert ask.payload["cwd"] == str(stage.workspace)
    assert stage.port.sessions
    assert stage.port.pids[-1] == 0
    assert stage.port.flushed


async def test_a_denied_call_is_not_made_and_the_agent_hears_why(stage: Stage) -> None:
    stage.script({"call": [bash("echo made > made.txt")]}, {"say": "done"})
    outcome = await stage.run(saying("deny", "use the API instead"))
    assert outcome.kind is OutcomeKind.ENDED
    assert not (stage.workspace / "made.txt").exists()
    assert "denied" in results(stage)
    assert "use the API instead" in results(stage)


async def test_a_rule_that_was_allowed_is_not_asked_about_again(stage: Stage) -> None:
    stage.script({"call": [bash("git add one.txt")]}, {"call": [bash("git add two.txt")]}, {"say": "done"})
    await stage.run(saying("allow_rule"))
    assert [ask.payload["rule"] for ask in stage.port.asks] == ["Bash(git add *)"]


async def test_what_the_lead_adds_to_a_yes_reaches_the_agent(stage: Stage) -> None:
    stage.script({"call": [bash("echo made > made.txt")]}, {"say": "done"})
    await stage.run(saying("allow", "but only once"))
    assert "The lead adds: but only once" in json.dumps(list(stage.port.session_store.rows.values()))


async def test_a_withdrawn_request_is_refused_in_other_words_than_a_denial(stage: Stage) -> None:
    async def withdrawn(ask: Ask) -> Answer:
        raise AskWithdrawn("the team was paused")

    stage.script({"call": [bash("echo made > made.txt")]}, {"say": "done"})
    await stage.run(withdrawn)
    assert not (stage.workspace / "made.txt").exists()
    assert "withdrawn (the team was paused)" in results(stage)
    assert "did not deny" in results(stage)


async def test_a_broken_approval_service_never_lets_a_call_through(stage: Stage) -> None:
    async def broken(ask: Ask) -> Answer:
        raise Unavailable("database is gone")

    stage.script({"call": [bash("echo made > made.txt")]}, {"say": "done"})
    outcome = await stage.run(broken)
    assert outcome.kind is OutcomeKind.ENDED
    assert not (stage.workspace / "made.txt").exists()
    assert "approval service is unavailable" in results(stage)


async def test_an_unknown_answer_is_a_refusal(stage: Stage) -> None:
    stage.script({"call": [bash("echo made > made.txt")]}, {"say": "done"})
    await stage.run(saying("ok, whatever"))
    assert not (stage.workspace / "made.txt").exists()


async def test_a_parked_permission_is_repeated_and_made_after_the_lead_woke_up(stage: Stage) -> None:
    stage.script({"say": "now", "call": [bash("echo made > made.txt")]}, {"say": "done"})
    outcome = await stage.run(parking)
    assert (outcome.kind, outcome.reason) == (OutcomeKind.PARKED, Reason.PARKED)
    assert stage.left() == []
    outcome = await stage.run(saying("allow"), prompt=resume(stage, "repeat", "The lead allowed your call."))
    assert (outcome.kind, outcome.result) == (OutcomeKind.ENDED, "done")
    assert (stage.workspace / "made.txt").read_text() == "made\n"
    first, second = stage.port.asks
    assert (first.payload["tool"], first.payload["input"]) == (second.payload["tool"], second.payload["input"])


async def test_a_parked_permission_that_was_denied_is_not_made(stage: Stage) -> None:
    stage.script({"call": [bash("echo made > made.txt")]}, {"say": "done"})
    await stage.run(parking)
    outcome = await stage.run(prompt=resume(stage, "answered", "The lead denied your call."))
    assert (outcome.kind, outcome.result) == (OutcomeKind.ENDED, "done")
    assert not (stage.workspace / "made.txt").exists()
    assert len(stage.port.asks) == 1


async def test_a_question_is_answered_with_the_chosen_label(stage: Stage) -> None:
    stage.script({"call": [call("AskUserQuestion", questions=[QUESTION])]}, {"say": "done"})
    await stage.run(saying("answer", answers={"Which database?": "SQLite"}))
    (ask,) = stage.port.asks
    assert ask.kind is DecisionKind.QUESTION
    assert ask.payload == {"questions": [QUESTION]}
    assert "SQLite" in results(stage)


async def test_an_empty_answer_is_no_answer_and_is_asked_again(stage: Stage) -> None:
    stage.script({"call": [call("AskUserQuestion", questions=[QUESTION])]}, {"say": "done"})
    await stage.run(saying("answer", answers={}))
    assert len(stage.port.asks) == 2
    assert "has not answered" in results(stage)


async def test_a_dismissed_question_is_left_to_the_agent(stage: Stage) -> None:
    stage.script({"call": [call("AskUserQuestion", questions=[QUESTION])]}, {"say": "done"})
    await stage.run(saying("dismiss", "your call"))
    assert "Decide yourself" in results(stage)
    assert "your call" in results(stage)


async def test_a_parked_question_goes_on_with_its_answer_in_the_prompt(stage: Stage) -> None:
    stage.script(
        {"call": [call("AskUserQuestion", questions=[QUESTION])]},
        {"either": [{"when": {"answer_contains": "SQLite"}, "then": [{"say": "took SQLite"}]}, {"then": [{"say": "lost"}]}]},
    )
    assert (await stage.run(parking)).kind is OutcomeKind.PARKED
    outcome = await stage.run(prompt=resume(stage, "answered", "Answer: SQLite"))
    assert outcome.result == "took SQLite"
    assert len(stage.port.asks) == 1


async def test_an_escalation_returns_what_the_lead_chose(stage: Stage) -> None:
    stage.script({"call": [{"crew": "Escalate", "input": ESCALATION}]}, {"say": "done"})
    await stage.run(saying("answer", "ask me again if it fails", option="Use the sandbox", text=""))
    (ask,) = stage.port.asks
    assert ask.kind is DecisionKind.ESCALATION
    assert ask.payload["problem"] == "401 three times"
    assert [option["label"] for option in ask.payload["options"]] == ["Use the sandbox", "Wait"]
    assert "The lead chose: Use the sandbox." in results(stage)
    assert "ask me again if it fails" in results(stage)
    assert stage.port.calls == []


async def test_an_escalation_without_options_is_refused_and_names_the_field(stage: Stage) -> None:
    stage.script({"call": [{"crew": "Escalate", "input": {"problem": "help"}}]}, {"say": "done"})
    await stage.run(yes)
    assert stage.port.asks == []
    assert "options: give at least one" in results(stage)


async def test_a_parked_escalation_goes_on_with_the_answer(stage: Stage) -> None:
    stage.script({"call": [{"crew": "Escalate", "input": ESCALATION}]}, {"say": "done"})
    assert (await stage.run(parking)).kind is OutcomeKind.PARKED
    outcome = await stage.run(prompt=resume(stage, "answered", "The lead chose: Wait"))
    assert outcome.result == "done"
    assert len(stage.port.asks) == 1


async def test_an_approved_plan_ends_plan_mode(stage: Stage) -> None:
    stage.script(
        {"call": [call("ExitPlanMode", plan=PLAN)]}, {"call": [call("Write", file_path="x.txt", content="x")]}, {"say": "done"}
    )
    outcome = await stage.run(yes, plan_mode=True)
    assert outcome.result == "done"
    assert [ask.kind for ask in stage.port.asks] == [DecisionKind.PLAN, DecisionKind.PERMISSION]
    assert stage.port.asks[0].payload == {"plan": PLAN, "version": 1}
    assert (stage.workspace / "x.txt").read_text() == "x"


async def test_a_plan_approved_with_changes_is_told_as_changed(stage: Stage) -> None:
    stage.script({"call": [call("ExitPlanMode", plan=PLAN)]}, {"say": "done"})
    await stage.run(saying("approve_changes", "mind the tests", plan="# Plan\n1. write tests first"), plan_mode=True)
    assert "1. write tests first" in results(stage)


async def test_a_plan_sent_back_keeps_plan_mode_and_nothing_is_written(stage: Stage) -> None:
    async def second_time(ask: Ask) -> Answer:
        return Answer("revise", "smaller steps") if ask.payload.get("version") == 1 else Answer("approve")

    stage.script(
        {"call": [call("ExitPlanMode", plan=PLAN)]},
        {"call": [call("Write", file_path="early.txt", content="x"), bash("echo x > early2.txt")]},
        {"call": [call("ExitPlanMode", plan=PLAN + "\n2. test it")]},
        {"say": "done"},
    )
    outcome = await stage.run(second_time, plan_mode=True)
    assert outcome.result == "done"
    assert [ask.payload["version"] for ask in stage.port.asks] == [1, 2]
    assert "smaller steps" in results(stage)
    assert "Refused: you are in plan mode" in results(stage)
    assert list(stage.workspace.iterdir()) == []


async def test_a_plan_sent_back_four_times_becomes_an_escalation(stage: Stage) -> None:
    """N22: the fifth time the lead does not get one more card."""

    async def stubborn(ask: Ask) -> Answer:
        if ask.kind is DecisionKind.PLAN:
            return Answer("revise", "no")
        return Answer("answer", data={"option": "Stop planning", "text": ""})

    again = {"call": [call("ExitPlanMode", plan=PLAN)]}
    stage.script(*[again] * 5, {"call": [call("Write", file_path="x.txt", content="x")]}, {"say": "done"})
    await stage.run(stubborn, plan_mode=True)
    assert [ask.kind for ask in stage.port.asks] == [DecisionKind.PLAN] * 4 + [DecisionKind.ESCALATION]
    assert stage.port.asks[-1].payload["plan"] == PLAN
    assert not (stage.workspace / "x.txt").exists()


async def test_a_parked_plan_that_was_sent_back_goes_on_in_plan_mode(stage: Stage) -> None:
    stage.script(
        {"call": [call("ExitPlanMode", plan=PLAN)]},
        {"call": [call("Write", file_path="early.txt", content="x")]},
        {"call": [call("ExitPlanMode", plan=PLAN + "\n2. test it")]},
        {"call": [call("Write", file_path="x.txt", content="x")]},
        {"say": "done"},
    )
    assert (await stage.run(parking, plan_mode=True)).kind is OutcomeKind.PARKED
    outcome = await stage.run(yes, plan_mode=True, prompt=resume(stage, "answered", "Sent back: add tests"))
    assert outcome.result == "done"
    assert not (stage.workspace / "early.txt").exists()
    assert (stage.workspace / "x.txt").exists()
    assert "\n2. test it" in stage.port.asks[1].payload["plan"]


async def test_a_parked_plan_that_was_approved_is_carried_out(stage: Stage) -> None:
    stage.script(
        {"call": [call("ExitPlanMode", plan=PLAN)]}, {"call": [call("Write", file_path="x.txt", content="x")]}, {"say": "done"}
    )
    assert (await stage.run(parking, plan_mode=True)).kind is OutcomeKind.PARKED
    outcome = await stage.run(yes, prompt=resume(stage, "answered", "Approved. Carry it out."))
    assert outcome.result == "done"
    assert (stage.workspace / "x.txt").exists()
