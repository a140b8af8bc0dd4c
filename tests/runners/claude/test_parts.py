"""The smaller parts: the emitter, the mirror of the transcript, stderr, options, replies to hooks."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions
from claude_agent_sdk.testing import run_session_store_conformance

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import DecisionKind, StepKind
from tasks_app.runners.claude import launcher, options, stream
from tasks_app.runners.claude.emitter import ROOM, Emitter
from tasks_app.runners.claude.mirror import Mirror
from tasks_app.runners.fake_port import FakePort, MemoryStore
from tasks_app.runners.port import Directive, RunSpec, StepDraft, ToolSpec

STEP = StepDraft(StepKind.SAID, "x")
KEY = {"project_key": "p", "session_id": "s"}
SPEC = RunSpec(
    run_id="rtest0001",
    fence=1,
    team_id=1,
    agent="a",
    task_label="T-1",
    attempt=1,
    prompt="p",
    system_prompt="You are a\0b.",
    workspace="/w",
    home="/h",
    model="claude-x",
    plan_mode=False,
    session_id=None,
    new_session_id="n",
    tools=(
        ToolSpec("TaskList", "d", {"type": "object"}),
        ToolSpec("Escalate", "d", {"type": "object"}, asks=DecisionKind.ESCALATION),
    ),
)


def call_row(*ids: str) -> dict[str, Any]:
    """A transcript row with calls."""
    return {"type": "assistant", "uuid": "-".join(ids), "message": {"content": [{"type": "tool_use", "id": one} for one in ids]}}


# -- the emitter


async def test_steps_are_handed_over_in_batches_and_in_order() -> None:
    port = FakePort()
    emitter = Emitter(port, wake=lambda: None)
    emitter.session("s1")
    emitter.add([replace(STEP, text=str(number)) for number in range(450)])
    await emitter.drain()
    assert [step.text for step in port.steps] == [str(number) for number in range(450)]
    assert port.batches == [200, 200, 50]
    assert port.sessions == ["s1"]
    assert port.flushed == 1


async def test_a_port_that_loses_the_lease_wakes_the_run() -> None:
    port, woken = FakePort(), asyncio.Event()
    emitter = Emitter(port, wake=woken.set)
    port.order(Directive.LOST)
    emitter.add([STEP])
    await asyncio.wait_for(woken.wait(), 5)
    with pytest.raises(LeaseLost):
        await emitter.drain()
    assert isinstance(emitter.failure, LeaseLost)


async def test_a_flush_that_fails_counts_as_a_failure() -> None:
    class Broken(FakePort):
        async def flush(self) -> None:
            raise OSError("disk full")

    emitter = Emitter(Broken(), wake=lambda: None)
    emitter.add([STEP])
    with pytest.raises(OSError, match="disk full"):
        await emitter.drain()
    assert isinstance(emitter.failure, OSError)


async def test_the_reader_waits_only_when_the_port_is_far_behind() -> None:
    gate = asyncio.Event()

    class Slow(FakePort):
        async def emit(self, steps: Sequence[StepDraft]) -> None:
            await gate.wait()
            await super().emit(steps)

    emitter = Emitter(Slow(), wake=lambda: None)
    emitter.add([STEP] * 100)
    await asyncio.wait_for(emitter.room(), 5)
    emitter.add([STEP] * (ROOM + 1000))
    waiting = asyncio.ensure_future(emitter.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.set()
    await asyncio.wait_for(waiting, 5)
    await emitter.drain()


async def test_an_abandoned_emitter_writes_nothing_more() -> None:
    port = FakePort()
    emitter = Emitter(port, wake=lambda: None)
    emitter.add([STEP])
    await emitter.abandon()
    assert port.steps == []
    assert port.flushed == 0


async def test_a_call_waits_until_its_step_is_stored_also_where_it_is_not_told_yet() -> None:
    port = FakePort()
    emitter = Emitter(port, wake=lambda: None)
    waiting = asyncio.ensure_future(emitter.recorded("t2", within_s=5))
    emitter.add([replace(STEP, kind=StepKind.TOOL_CALL, tool_use_id="t1"), STEP])
    await asyncio.sleep(0.01)
    assert (waiting.done(), port.flushed) == (False, 0)
    emitter.add([replace(STEP, kind=StepKind.TOOL_CALL, tool_use_id="t2")])
    assert await waiting
    assert port.flushed == 1
    assert await emitter.recorded("t1", within_s=5)
    assert not await emitter.recorded("t3", within_s=0.01)
    await emitter.drain()


# -- the mirror


async def test_a_call_goes_on_when_it_is_stored() -> None:
    mirror = Mirror(MemoryStore(), lose=lambda: None)
    waiting = asyncio.ensure_future(mirror.stored("t2", within_s=5))
    await mirror.append(KEY, [{"type": "user", "message": {"content": "text"}}, {"type": "mode"}, "odd", call_row("t1", "t2")])
    assert await waiting
    assert await mirror.stored("t1", within_s=0)
    assert not await mirror.stored("t3", within_s=0)


async def test_a_store_that_lost_the_run_says_so() -> None:
    store, lost = MemoryStore(), []
    store.lost = True
    mirror = Mirror(store, lose=lambda: lost.append(True))
    with pytest.raises(LeaseLost):
        await mirror.append(KEY, [call_row("t1")])
    assert lost == [True]
    assert not await mirror.stored("t1", within_s=0)


async def test_what_was_read_already_is_not_read_again_and_is_given_once() -> None:
    store, read = MemoryStore(), [call_row("t1")]
    await store.append(KEY, [call_row("t1"), call_row("t2")])
    mirror = Mirror(store, lose=lambda: None, known={KEY["session_id"]: read, "new": []})
    assert await mirror.load({**KEY, "subpath": "subagents/a1"}) is None
    assert await mirror.load(KEY) == [call_row("t1")]
    assert read == [], "who read them does not keep them for the whole life of the run"
    assert len(await mirror.load(KEY)) == 2
    assert await mirror.load({**KEY, "session_id": "new"}) is None


async def test_the_store_of_the_fake_port_keeps_rows_once_and_by_place() -> None:
    store = MemoryStore()
    await store.append(KEY, [call_row("t1"), {"type": "mode"}])
    await store.append(KEY, [call_row("t1"), {"type": "mode"}])
    await store.append({**KEY, "subpath": "subagents/a1"}, [call_row("t2")])
    rows = await store.load(KEY)
    assert rows is not None
    assert [row["type"] for row in rows] == ["assistant", "mode", "mode"]
    assert await store.list_subkeys(KEY) == ["subagents/a1"]
    assert await store.load({**KEY, "session_id": "other"}) is None


async def test_the_store_and_its_mirror_keep_the_sdks_contracts() -> None:
    await run_session_store_conformance(MemoryStore)
    await run_session_store_conformance(lambda: Mirror(MemoryStore(), lose=lambda: None))


# -- stderr


def test_stderr_keeps_the_last_64_kb_masked() -> None:
    stderr = options.Stderr()
    stderr("\x1b[31mkey sk-ant-api03-" + "A" * 40)
    assert stderr.text() == "key sk-ant-api03-***"
    for number in range(3000):
        stderr(f"{number} " + "x" * 60)
    assert len(stderr.text()) <= 64 * 1024
    assert stderr.text().endswith("2999 " + "x" * 60)
    stderr("y" * 1_000_000)
    assert len(stderr.text()) <= 64 * 1024


# -- options


async def _nothing(*arguments: Any) -> Any:
    return {}


async def _call(name: str, arguments: Mapping[str, Any], tool_use_id: str) -> tuple[str, bool]:
    return "", False


def built(tmp_path: Path, *, start: options.Start | None = None, **changes: Any) -> ClaudeAgentOptions:
    """The options for a spec."""
    launch = launcher.prepare({}, run_id="r", fence=1, home=tmp_path / "h")
    callbacks = options.Callbacks(_nothing, _nothing, _nothing, _call, options.Stderr())
    begin = start or options.Start("n", resume=False, plan_mode=False)
    return options.build(replace(SPEC, **changes), launch, begin, callbacks, store=MemoryStore())


def test_nothing_is_read_from_settings_of_the_workspace_or_the_user(tmp_path: Path) -> None:
    found = built(tmp_path)
    assert found.setting_sources == []
    assert found.strict_mcp_config is True
    assert found.verbatim_prompts is True
    assert found.max_buffer_size == 64 * 1024 * 1024
    assert found.session_store_flush == "eager"
    assert "\0" not in str(found.system_prompt)


def test_a_tool_that_asks_is_not_allowed_beforehand(tmp_path: Path) -> None:
    assert built(tmp_path).allowed_tools == ["mcp__crew__TaskList"]


def test_a_failing_hook_blocks_the_call(tmp_path: Path) -> None:
    hooks = built(tmp_path).hooks
    assert hooks is not None
    assert [matcher.on_failure for matcher in hooks["PreToolUse"]] == ["block"]


def test_a_session_is_either_new_or_resumed(tmp_path: Path) -> None:
    new = built(tmp_path)
    assert (new.session_id, new.resume) == ("n", None)
    resumed = built(tmp_path, start=options.Start("s", resume=True, plan_mode=False))
    assert (resumed.session_id, resumed.resume) == (None, "s")


def test_plan_mode_is_told_and_can_be_left(tmp_path: Path) -> None:
    found = built(tmp_path, start=options.Start("n", resume=False, plan_mode=True), builtin_tools=("Read",))
    assert found.permission_mode == "plan"
    assert found.tools == ["Read", "ExitPlanMode"]
    assert options.PLAN_MODE in str(found.system_prompt)
    assert built(tmp_path, builtin_tools=("Read",)).tools == ["Read"]


def test_a_sandbox_that_cannot_be_had_is_an_error_not_a_shrug(tmp_path: Path) -> None:
    assert built(tmp_path).settings is None
    sandbox = json.loads(str(built(tmp_path, sandbox=True).settings))["sandbox"]
    assert sandbox["failIfUnavailable"] is True
    assert sandbox["allowUnsandboxedCommands"] is False


# -- what the SDK must keep for us


def test_the_starter_can_be_executed() -> None:
    assert os.access(launcher.SCRIPT, os.X_OK)


def test_the_sdk_still_has_what_we_look_at_behind_its_face(tmp_path: Path) -> None:
    client = stream.ClaudeSDKClient(built(tmp_path))
    assert client._query is None
    assert stream.pipes(client) is None
