"""The gate without a process: rules first, the lead for the rest, and never a yes that nobody gave."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import DecisionKind
from tasks_app.runners.fake_port import never, yes
from tasks_app.runners.port import Answer, Ask, Parked
from tests.runners.claude.conftest import until
from tests.runners.claude.room import Room


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace."""
    return tmp_path


async def test_a_call_waits_for_its_step_and_only_what_the_lead_is_asked_for_the_transcript(folder: Path) -> None:
    room = Room(folder, yes, allow=("Bash(git *)",), deny=("Bash(git push *)",))
    await room.rule("Read", {"file_path": "a.py"})
    await room.rule("Bash", {"command": "git push"})
    assert room.waited == []
    await room.rule("Bash", {"command": "git status"})
    assert room.waited == ["recorded toolu_1"]
    await room.decide("Bash", {"command": "make"}, call="toolu_2")
    assert room.waited == ["recorded toolu_1", "stored toolu_2"]


async def test_deny_beats_ask_beats_allow(folder: Path) -> None:
    room = Room(folder, never, allow=("Bash(git *)",), ask=("Bash(git push *)",), deny=("Bash(git push --force *)",))
    assert await room.rule("Bash", {"command": "git status"}) == "allow"
    assert await room.rule("Bash", {"command": "git push origin"}) == "ask"
    assert await room.rule("Bash", {"command": "git push --force origin"}) == "deny"
    assert await room.rule("Bash", {"command": "make"}) == ""


async def test_no_rule_answers_for_the_lead(folder: Path) -> None:
    room = Room(folder, never, allow=("AskUserQuestion", "ExitPlanMode", "mcp__crew__Escalate"))
    for tool in ("AskUserQuestion", "ExitPlanMode", "mcp__crew__Escalate"):
        assert await room.rule(tool, {}) == ""


async def test_plan_mode_refuses_writes_whatever_the_rules_allow(folder: Path) -> None:
    room = Room(folder, yes, allow=("Edit", "Bash"))
    assert await room.rule("Write", {"file_path": "x"}, mode="plan") == "deny"
    assert await room.rule("Bash", {"command": "touch x"}, mode="plan") == ""
    assert isinstance(await room.decide("Bash", {"command": "touch x"}), PermissionResultDeny)
    assert room.port.asks == []


async def test_a_link_does_not_carry_a_rule_out_of_its_folder(folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "docs").mkdir()
    (folder / "docs" / "link").symlink_to(folder / "src")
    room = Room(folder, never, allow=("Edit(/docs/**)",), deny=("Edit(/src/**)",))
    assert await room.rule("Edit", {"file_path": "docs/a.md"}) == "allow"
    assert await room.rule("Edit", {"file_path": "docs/link/a.py"}) == "deny"


async def test_several_questions_may_be_open_at_once(folder: Path) -> None:
    """N25, N35: parallel calls and sub-agents do not wait for each other."""
    doors: dict[str, asyncio.Future[Answer]] = {}

    async def later(ask: Ask) -> Answer:
        doors[ask.tool_use_id] = asyncio.get_running_loop().create_future()
        return await doors[ask.tool_use_id]

    room = Room(folder, later)
    first = asyncio.ensure_future(room.decide("Bash", {"command": "make a"}, call="t1"))
    second = asyncio.ensure_future(room.decide("Bash", {"command": "make b"}, call="t2", agent="a1"))
    await until(lambda: len(doors) == 2)
    doors["t2"].set_result(Answer("deny"))
    assert isinstance(await second, PermissionResultDeny)
    assert not first.done()
    doors["t1"].set_result(Answer("allow"))
    assert isinstance(await first, PermissionResultAllow)
    assert [ask.subagent for ask in room.port.asks] == ["", "explore"]


async def test_where_the_rules_alone_decide_an_unsettled_call_is_refused_and_one_under_ask_is_asked(folder: Path) -> None:
    room = Room(folder, yes, refuses_unsettled=True, ask=("Bash(make:*)",))
    refused = await room.decide("Bash", {"command": "rm -r build"})
    assert isinstance(refused, PermissionResultDeny)
    assert "nobody is asked" in refused.message
    assert not room.port.asks
    assert isinstance(await room.decide("Bash", {"command": "make all"}), PermissionResultAllow)
    assert len(room.port.asks) == 1


async def test_a_cancelled_request_is_withdrawn(folder: Path) -> None:
    """N23: Claude Code cancels the request."""
    room = Room(folder, never)
    asking = asyncio.ensure_future(room.decide("Bash", {"command": "make"}))
    await until(lambda: room.port.asks)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert [word for _, word in room.port.withdrawn] == ["withdrawn"]


async def test_when_the_run_parks_the_other_questions_stay_open(folder: Path) -> None:
    async def first_parks(ask: Ask) -> Answer:
        if ask.tool_use_id == "t1":
            raise Parked
        return await never(ask)

    room = Room(folder, first_parks)
    other = asyncio.ensure_future(room.decide("Bash", {"command": "make b"}, call="t2"))
    await until(lambda: room.port.asks)
    result = await room.decide("Bash", {"command": "make a"}, call="t1")
    assert (result.behavior, result.interrupt) == ("deny", True)
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other
    assert [word for _, word in room.port.withdrawn] == ["parked"]
    assert room.woken == 1
    assert (await room.decide("Bash", {"command": "make c"}, call="t3")).interrupt is True
    assert len(room.port.asks) == 2


async def test_a_lost_lease_refuses_and_ends_the_run(folder: Path) -> None:
    async def lost(ask: Ask) -> Answer:
        raise LeaseLost("gone")

    room = Room(folder, lost)
    result = await room.decide("Bash", {"command": "make"})
    assert (result.behavior, result.interrupt) == ("deny", True)
    assert room.desk.lost
    assert room.woken == 1


@pytest.mark.parametrize("failure", [RuntimeError("boom"), KeyError("x"), OSError("disk")])
async def test_no_exception_becomes_a_yes(folder: Path, failure: Exception) -> None:
    """N26."""

    async def broken(ask: Ask) -> Answer:
        raise failure

    room = Room(folder, broken)
    for tool, given in (
        ("Bash", {"command": "make"}),
        ("ExitPlanMode", {"plan": "# P"}),
        ("AskUserQuestion", {"questions": [{"question": "?"}]}),
        ("mcp__crew__Escalate", {"problem": "p", "options": ["a"]}),
    ):
        result = await room.decide(tool, given)
        assert isinstance(result, PermissionResultDeny)
        assert "approval service is unavailable" in result.message
        assert "did not deny" in result.message


async def test_what_is_run_is_what_was_shown(folder: Path) -> None:
    room = Room(folder, yes)
    result = await room.decide("Bash", {"command": "echo a\0b\ud800"})
    assert isinstance(result, PermissionResultAllow)
    assert result.updated_input == room.port.asks[0].payload["input"] == {"command": "echo ab\ufffd"}


async def test_a_risky_call_says_why(folder: Path) -> None:
    room = Room(folder, yes)
    await room.decide("Bash", {"command": "rm -rf build"})
    payload = room.port.asks[0].payload
    assert payload["risk"]["level"] == "high"
    assert payload["risk"]["sentences"]
    assert payload["rule"] is None


async def test_a_plan_without_text_is_refused_without_asking(folder: Path) -> None:
    room = Room(folder, yes)
    result = await room.decide("ExitPlanMode", {})
    assert isinstance(result, PermissionResultDeny)
    assert room.port.asks == []


async def test_a_plan_is_found_where_claude_code_keeps_it(folder: Path) -> None:
    room = Room(folder, yes)
    plans = folder / "config" / "plans"
    plans.mkdir(parents=True)
    (plans / "happy-otter.md").write_text("# From the file")
    hook = {"tool_name": "ExitPlanMode", "tool_input": {}, "permission_mode": "plan"}
    await room.gate.before_tool({**hook, "transcript_path": f"{folder}/config/projects/p/s.jsonl"}, "t1", None)
    await room.decide("ExitPlanMode", {}, call="t1")
    assert room.port.asks[0].payload == {"plan": "# From the file", "version": 1}
    room.plans["t2"] = "# Streamed"
    await room.decide("ExitPlanMode", {}, call="t2")
    assert room.port.asks[1].payload == {"plan": "# Streamed", "version": 2}


async def test_a_plan_sent_back_says_plan_mode_again(folder: Path) -> None:
    async def back(ask: Ask) -> Answer:
        return Answer("revise", "smaller")

    room = Room(folder, back)
    result = await room.decide("ExitPlanMode", {"plan": "# P"})
    assert "smaller" in result.message
    assert room.modes == ["plan"]


async def test_a_stuck_plan_can_be_approved_from_the_escalation(folder: Path) -> None:
    async def lead(ask: Ask) -> Answer:
        if ask.kind is DecisionKind.PLAN:
            return Answer("revise", "no")
        return Answer("answer", data={"option": ask.payload["options"][0]["label"], "text": ""})

    room = Room(folder, lead)
    results = [await room.decide("ExitPlanMode", {"plan": "# P"}) for _ in range(5)]
    assert [result.behavior for result in results] == ["deny"] * 4 + ["allow"]
    assert room.port.asks[-1].kind is DecisionKind.ESCALATION


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "problem"),
        ({"problem": "  ", "options": ["a"]}, "problem"),
        ({"problem": "p"}, "options"),
        ({"problem": "p", "options": "a"}, "options"),
        ({"problem": "p", "options": [{"effect": "x"}]}, "options[0].label"),
        ({"problem": "p", "options": ["a", 7]}, "options[1].label"),
    ],
)
async def test_a_malformed_escalation_names_the_field(folder: Path, given: dict[str, Any], field: str) -> None:
    room = Room(folder, yes)
    result = await room.decide("mcp__crew__Escalate", given)
    assert isinstance(result, PermissionResultDeny)
    assert f" {field}:" in result.message
    assert room.port.asks == []


@pytest.mark.parametrize("questions", [None, [], "text", [{"header": "x"}], [7]])
async def test_a_question_without_a_question_is_refused(folder: Path, questions: Any) -> None:
    room = Room(folder, yes)
    result = await room.decide("AskUserQuestion", {"questions": questions})
    assert isinstance(result, PermissionResultDeny)
    assert room.port.asks == []


async def test_an_answer_to_a_question_as_it_is_shown_is_the_answer_to_the_question_as_it_was_asked(folder: Path) -> None:
    async def lead(ask: Ask) -> Answer:
        return Answer("answer", data={"answers": {"Use ⟨U+202E⟩ token=***⟨12-characters-hidden⟩?": "yes"}})

    room = Room(folder, lead)
    text = "Use \u202e token=Aa1Bb2Cc3Dd4?"
    result = await room.decide("AskUserQuestion", {"questions": [{"question": text}]})
    assert isinstance(result, PermissionResultAllow)
    assert result.updated_input is not None
    assert result.updated_input["answers"] == {text: "yes"}
    assert len(room.port.asks) == 1


async def test_several_labels_are_one_answer(folder: Path) -> None:
    async def lead(ask: Ask) -> Answer:
        return Answer("answer", data={"answers": {"Which?": ["a", " b "]}})

    room = Room(folder, lead)
    result = await room.decide("AskUserQuestion", {"questions": [{"question": "Which?"}]})
    assert result.updated_input["answers"] == {"Which?": "a, b"}


async def test_plans_sent_back_to_earlier_lives_count(folder: Path) -> None:
    """N22: the count is that of the run, not of the process."""
    room = Room(folder, yes, plans_sent_back=("a", "b", "c", "d"))
    await room.decide("ExitPlanMode", {"plan": "# Plan"})
    fresh = Room(folder, yes, plans_sent_back=("a", "b", "c"))
    await fresh.decide("ExitPlanMode", {"plan": "# Plan"})
    assert [ask.kind for ask in (*room.port.asks, *fresh.port.asks)] == [DecisionKind.ESCALATION, DecisionKind.PLAN]
    assert room.port.asks[0].payload["tried"] == ["Version 1: a", "Version 2: b", "Version 3: c", "Version 4: d"]
    assert fresh.port.asks[0].payload["version"] == 4
