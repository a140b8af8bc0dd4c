"""What the team's rules and the edge of the workspace do to calls, on the real Claude Code process."""

import os

import pytest

from tasks_app.domain.statuses import StepKind
from tasks_app.runners.fake_port import yes
from tasks_app.runners.port import OutcomeKind, ToolSpec
from tests.runners.claude.conftest import TASK_LIST, Stage, bash, call

pytestmark = pytest.mark.engine


def results(stage: Stage) -> list[str]:
    """The tool results that the agent got."""
    return [step.text for step in stage.port.of(StepKind.TOOL_RESULT)]


async def test_a_deny_rule_refuses_in_words_and_asks_nobody(stage: Stage) -> None:
    (stage.workspace / "keep.txt").write_text("x")
    stage.script({"call": [bash("echo a; rm -f keep.txt")]}, {"say": "done"})
    await stage.run(yes, deny=("Bash(rm *)",), allow=("Bash",))
    assert stage.port.asks == []
    assert "the rule Bash(rm *) of this team forbids it" in results(stage)[0]
    assert (stage.workspace / "keep.txt").exists()


async def test_an_allow_rule_asks_nobody(stage: Stage) -> None:
    stage.script({"call": [bash("touch a.txt"), call("Write", file_path="b.txt", content="b")]}, {"say": "done"})
    await stage.run(allow=("Bash(touch *)", "Edit"))
    assert stage.port.asks == []
    assert sorted(os.listdir(stage.workspace)) == ["a.txt", "b.txt"]


async def test_an_ask_rule_asks_even_where_claude_code_would_not(stage: Stage) -> None:
    stage.script({"call": [bash("ls")]}, {"say": "done"})
    await stage.run(yes, ask=("Bash(ls *)",), allow=("Bash",))
    assert [ask.payload["input"]["command"] for ask in stage.port.asks] == ["ls"]


async def test_without_a_rule_reading_is_free_and_writing_is_asked(stage: Stage) -> None:
    (stage.workspace / "read.txt").write_text("readable")
    stage.script(
        {"call": [call("Read", file_path="read.txt")]}, {"call": [bash("ls")]}, {"call": [bash("mkdir x")]}, {"say": "done"}
    )
    await stage.run(yes)
    assert [ask.payload["input"]["command"] for ask in stage.port.asks] == ["mkdir x"]
    assert "readable" in results(stage)[0]


@pytest.mark.parametrize("tool", ["Read", "Write", "Glob", "Grep"])
async def test_a_path_outside_the_workspace_is_refused_in_words(stage: Stage, tool: str) -> None:
    (stage.folder / "secret.txt").write_text("top secret")
    (stage.workspace / "link").symlink_to(stage.folder)
    given = {
        "Read": {"file_path": "link/secret.txt"},
        "Write": {"file_path": "../new.txt", "content": "x"},
        "Glob": {"pattern": "../*.txt"},
        "Grep": {"pattern": "secret", "path": str(stage.folder)},
    }[tool]
    stage.script({"call": [call(tool, **given)]}, {"say": "done"})
    outcome = await stage.run(yes, allow=("Read", "Edit"), builtin_tools=(tool, "Bash"))
    assert outcome.kind is OutcomeKind.ENDED
    assert stage.port.asks == []
    assert "lies outside the workspace" in results(stage)[0]
    assert not (stage.folder / "new.txt").exists()


async def test_what_claude_code_keeps_for_the_agent_may_be_read(stage: Stage) -> None:
    stage.script(
        {"call": [bash("seq 1 200000")]},
        {"call": [call("Read", file_path=f"{stage.folder}/home-1/tmp/note.txt")]},
        {"say": "done"},
    )
    home = stage.folder / "home-1" / "tmp"
    home.mkdir(parents=True)
    (home / "note.txt").write_text("in the private folder")
    await stage.run(yes)
    assert "in the private folder" in results(stage)[1]


async def test_crew_tools_need_no_question_and_get_the_id_of_the_call(stage: Stage) -> None:
    stage.port.calling = lambda name, arguments, tool_use_id: (f"{name} got {dict(arguments)}", False)
    stage.script({"call": [{"crew": "TaskList", "input": {"any": "thing\u0000"}}]}, {"say": "done"})
    await stage.run()
    (called,) = stage.port.calls
    assert called[:2] == ("TaskList", {"any": "thing"})
    (step,) = stage.port.of(StepKind.TOOL_CALL)
    assert called[2] == step.tool_use_id
    assert results(stage) == ["TaskList got {'any': 'thing'}"]


async def test_bad_arguments_of_a_crew_tool_come_back_as_an_error_that_the_tool_words(stage: Stage) -> None:
    strict = ToolSpec(
        "TaskGet", "One task.", {"type": "object", "properties": {"taskId": {"type": "string"}}, "required": ["taskId"]}
    )
    stage.port.calling = lambda name, arguments, tool_use_id: ("taskId: say which task, for example T-3.", True)
    stage.script({"call": [{"crew": "TaskGet", "input": {}}]}, {"say": "done"})
    await stage.run(tools=(TASK_LIST, strict))
    (step,) = stage.port.of(StepKind.TOOL_RESULT)
    assert step.text == "taskId: say which task, for example T-3."
    assert step.data["is_error"] is True


async def test_the_built_in_ways_around_the_crew_are_closed(stage: Stage) -> None:
    stage.script(
        {"call": [call("SendMessage", to="x", message="y")]},
        {"call": [call("CronCreate", cron="* * * * *", prompt="again")]},
        {"call": [call("EnterWorktree")]},
        {"say": "done"},
    )
    await stage.run(yes)
    assert stage.port.asks == []
    assert all("No such tool" in text or "not" in text for text in results(stage))
    assert all(step.data["is_error"] for step in stage.port.of(StepKind.TOOL_RESULT))
