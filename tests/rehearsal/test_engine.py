"""Scripts played to the real Claude Code process: they drive it, and they find their place again after every accident."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk.types import AssistantMessage, PermissionResultAllow, PermissionResultDeny, ToolUseBlock

from tasks_app.rehearsal.server import RehearsalServer
from tests.rehearsal.claude import Claude, run, until

pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings("ignore::claude_agent_sdk.types.CanUseToolShadowedWarning"),
]

STORY = """
parts:
  - agent: ann
    task: Payment*
    turns:
      - say: I plan.
        think: A plan first.
        call: {tool: ExitPlanMode, input: {plan: "# Plan one"}}
      - either:
          - when: {answer_contains: has approved}
            then: []
          - then:
              - {say: A better plan., call: {tool: ExitPlanMode, input: {plan: "# Plan two"}}}
      - say: Which database?
        call:
          tool: AskUserQuestion
          input:
            questions:
              - question: Which database?
                header: DB
                multiSelect: false
                options: [{label: pg, description: PostgreSQL}, {label: lite, description: SQLite}]
      - either:
          - when: {answer_contains: '="lite"'}
            then: [{say: SQLite., call: {tool: Write, input: {file_path: "{workspace}/db.txt", content: lite}}}]
          - then: [{say: PostgreSQL., call: {tool: Write, input: {file_path: "{workspace}/db.txt", content: pg}}}]
      - say: I count.
        usage: {input: 7, cache_read: 160000, cache_write: 1000, output: 90}
        call:
          - {tool: Bash, input: {command: "echo one > {workspace}/count.txt", description: count}}
          - {tool: Bash, input: {command: "ls {workspace}/nothing", description: look}}
      - either:
          - when: {result_contains: No such file, result_is_error: true}
            then: [{call: {complete: Paid.}}]
          - then: [{say: This must not be said.}]
    closing: "{agent} is done with {task}."
"""


def test_a_script_drives_plan_question_tools_and_report_of_the_real_process(tmp_path: Path, server: RehearsalServer) -> None:
    ann = Claude(tmp_path / "story", server, STORY, criteria=("It pays", "It is tested"))
    plans: list[str] = []

    async def lead(name: str, given: dict[str, Any], _context: Any) -> Any:
        if name == "ExitPlanMode":
            plans.append(str(given))
            return PermissionResultAllow() if len(plans) > 1 else PermissionResultDeny(message="Use fewer steps.")
        answers = {"answers": {"Which database?": "lite"}} if name == "AskUserQuestion" else {}
        return PermissionResultAllow(updated_input=given | answers)

    ann.can_use_tool = lead
    seen = run(ann.run("Do T-3.", permission_mode="plan"))
    assert seen.error == ""
    assert seen.said == ["I plan.", "A better plan.", "Which database?", "SQLite.", "I count.", "ann is done with T-3."]
    assert len(plans) == 2
    assert (ann.work / "db.txt").read_text() == "lite"
    assert (ann.work / "count.txt").read_text() == "one\n"
    assert [report["evidence"] for report in ann.reports] == [{"1": "It pays: Paid.", "2": "It is tested: Paid."}]
    assert any(usage["cache_read_input_tokens"] == 160_000 for usage in seen.usages)
    assert (seen.end.subtype, seen.end.result) == ("success", "ann is done with T-3.")


PARKED = """
parts:
  - turns:
      - say: I clean up.
        call:
          - {tool: Bash, input: {command: "rm -f {workspace}/old && echo one >> {workspace}/log", description: clean}}
          - {tool: Write, input: {file_path: "{workspace}/new", content: fresh}}
      - say: One question.
        call:
          tool: AskUserQuestion
          input:
            questions:
              - question: Which?
                header: W
                multiSelect: false
                options: [{label: a, description: x}, {label: b, description: y}]
      - either:
          - when: {answer_contains: the answer is b}
            then: [{say: It is b.}]
          - then: [{say: It is not b.}]
"""


def test_what_was_parked_is_repeated_or_counts_as_answered_after_resuming(tmp_path: Path, server: RehearsalServer) -> None:
    ann = Claude(tmp_path / "parked", server, PARKED)
    asked: list[tuple[str, dict[str, Any], str]] = []
    granted = False

    async def lead(name: str, given: dict[str, Any], context: Any) -> Any:
        asked.append((name, given, context.tool_use_id))
        if granted and name != "AskUserQuestion":
            return PermissionResultAllow(updated_input=given)
        return PermissionResultDeny(message="Parked.", interrupt=True)

    ann.can_use_tool = lead
    first = run(ann.run("Do T-3."))
    assert first.end.terminal_reason == "aborted_tools"
    parked = asked[0]
    granted = True
    second = run(ann.run(f"The lead allowed it.\n[crewdesk:repeat {parked[2]}]"))
    assert [name for name, _, _ in asked[1:]] == ["Bash", "Write", "AskUserQuestion"]
    assert asked[1][1] == parked[1]
    assert second.said == ["One question."]
    assert (ann.work / "log").read_text() == "one\n"
    third = run(ann.run(f"The lead says: the answer is b.\n[crewdesk:answered {asked[-1][2]}]"))
    assert third.said == ["It is b."]
    assert third.end.result == "It is b."


KILLED = """
parts:
  - turns:
      - {say: First., call: {tool: Bash, input: {command: "echo one >> {workspace}/log", description: one}}}
      - say: Second.
        call: {tool: Bash, input: {command: "echo two >> {workspace}/log; test -e {workspace}/go || sleep 30", description: two}}
      - {call: {complete: Both are there.}}
"""


def test_a_killed_process_goes_on_with_the_call_that_was_cut_off_at_another_server(
    tmp_path: Path, server: RehearsalServer
) -> None:
    ann = Claude(tmp_path / "killed", server, KILLED)

    async def kill(message: object, pid: int) -> None:
        calls = [block for block in getattr(message, "content", []) if isinstance(block, ToolUseBlock)]
        if isinstance(message, AssistantMessage) and calls and "two" in calls[0].input["command"]:
            await until(lambda: "two" in (ann.work / "log").read_text())
            await until(lambda: "tool_result" in str(ann.store._store))  # the transcript follows the process by about 0.1 s
            os.kill(pid, signal.SIGKILL)

    first = run(ann.run("Do T-3.", on_message=kill))
    assert "exit code -9" in first.error
    (ann.work / "go").touch()
    other = RehearsalServer()
    ann.moves_to(other, KILLED)
    second = run(ann.run("You were interrupted; what the last call did is unknown.\n[crewdesk:interrupted]"))
    other.stop()
    assert second.error == ""
    assert [name for name, _ in second.calls] == ["Bash", "mcp__crew__TaskUpdate"]
    assert (ann.work / "log").read_text() == "one\ntwo\ntwo\n"
    assert [report["summary"] for report in ann.reports] == ["Both are there."]


FAULTS = """
parts:
  - turns:
      - say: Two refusals first.
        fail: {status: 529, times: 2, retry_after: 0}
        call: {tool: Bash, input: {command: echo a, description: a}}
      - say: The line breaks in the middle of this.
        misbehave: cut
        call: {tool: Bash, input: {command: echo b, description: b}}
      - {say: No key., fail: {status: 401, times: 1, retry: false}}
      - {say: It is over.}
"""


def test_faults_are_played_as_often_as_said_and_then_the_turn(tmp_path: Path, server: RehearsalServer) -> None:
    ann = Claude(tmp_path / "faults", server, FAULTS)
    seen = run(ann.run("Do T-3.", "The key is there now.", "And?"))
    assert seen.error == ""
    assert [call["command"] for _, call in seen.calls] == ["echo a", "echo b"]
    assert [end.api_error_status for end in seen.ends] == [401, None, None]
    assert [text for text in seen.said if "API Error" not in text and "401" not in text][-2:] == ["No key.", "It is over."]


SUBAGENTS = """
parts:
  - turns:
      - say: Two helpers.
        call:
          - tool: Agent
            input: {description: a, prompt: Explore the API, subagent_type: general-purpose, run_in_background: false}
          - tool: Agent
            input: {description: b, prompt: Write the docs, subagent_type: general-purpose, run_in_background: false}
      - either:
          - when: {result_contains: The API has two doors}
            then: [{say: Two doors then.}]
          - then: [{say: This must not be said.}]
    subagents:
      explore:
        - {say: I look., call: {tool: Bash, input: {command: "echo api >> {workspace}/api", description: look}}}
        - {say: The API has two doors.}
      docs:
        - {call: {tool: Write, input: {file_path: "{workspace}/docs", content: docs}}}
        - {say: Documented.}
"""


def test_sub_agents_play_the_lines_that_a_word_of_their_prompt_selects(tmp_path: Path, server: RehearsalServer) -> None:
    ann = Claude(tmp_path / "subs", server, SUBAGENTS)
    seen = run(ann.run("Do T-3: explore the docs."))
    assert seen.said == ["Two helpers.", "Two doors then."]
    assert (ann.work / "api").read_text() == "api\n"
    assert (ann.work / "docs").read_text() == "docs"


COMPACTED = """
parts:
  - turns:
      - {say: One., call: {tool: Bash, input: {command: echo one, description: one}}}
      - either: [{when: {result_contains: one}, then: [{say: Two.}]}, {then: []}]
      - {say: Three.}
"""


def test_a_compacted_conversation_keeps_its_place(tmp_path: Path, server: RehearsalServer) -> None:
    ann = Claude(tmp_path / "compact", server, COMPACTED)
    seen = run(ann.run("Do T-3.", "Go on.", "/compact", "And?"))
    assert seen.said == ["One.", "Two.", "Three.", "That is all for T-3."]
