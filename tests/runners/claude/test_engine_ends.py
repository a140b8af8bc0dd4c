"""Every way a run can end, on the real Claude Code process: and each time nothing is left of it."""

import asyncio
import os
import signal
import sys
import time
from dataclasses import replace

import psutil
import pytest

from tasks_app.domain.statuses import Reason, StepKind
from tasks_app.runners.claude import launcher, processes
from tasks_app.runners.fake_port import never, yes
from tasks_app.runners.port import Answer, Ask, Directive, OutcomeKind
from tests.runners.claude.conftest import QUICK, Stage, bash, call, until

pytestmark = pytest.mark.engine

SHOWS_MARKERS = pytest.mark.skipif(sys.platform == "darwin", reason="macOS hides the marker of sh and sleep: docs/operations.md")
TWO_SLEEPERS = "sh -c 'sleep 600 & sleep 600'"


def sleepers(stage: Stage) -> list[int]:
    """The sleeping grandchildren of the run."""
    found = []
    for one in stage.left():
        try:
            if psutil.Process(one.pid).name() == "sleep":
                found.append(one.pid)
        except psutil.Error:
            continue
    return found


async def test_a_run_that_was_stopped_before_it_began_starts_no_process(stage: Stage) -> None:
    stage.script({"say": "never said"})
    stage.port.order(Directive.STOP)
    outcome = await stage.run()
    assert (outcome.kind, outcome.reason) == (OutcomeKind.STOPPED, Reason.STOPPED)
    assert stage.port.steps == []


@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.1, 0.3, 0.5])
async def test_a_stop_right_after_the_start_is_not_lost(stage: Stage, after_s: float) -> None:
    """N38: an interrupt before `init` is a silent no-op, so the process is ended instead."""
    stage.script({"call": [bash(TWO_SLEEPERS)]}, {"say": "never said"})
    task = stage.start(yes)
    await asyncio.sleep(after_s)
    stage.port.order(Directive.STOP)
    outcome = await asyncio.wait_for(task, 15)
    assert outcome.kind is OutcomeKind.STOPPED
    assert stage.left() == []


async def test_a_stop_in_the_middle_of_a_tool_ends_the_whole_tree(stage: Stage) -> None:
    stage.script({"call": [bash(TWO_SLEEPERS)]}, {"say": "never said"})
    task = stage.start(yes)
    await until(lambda: len(sleepers(stage)) == 2)
    stage.port.order(Directive.STOP)
    outcome = await asyncio.wait_for(task, 15)
    assert outcome.kind is OutcomeKind.STOPPED
    assert stage.left() == []
    assert stage.port.pids[-1] == 0


@pytest.mark.parametrize("hides", [False, True])
async def test_a_tool_that_ignores_term_is_killed(stage: Stage, monkeypatch: pytest.MonkeyPatch, hides: bool) -> None:
    """`hides`: as on a Mac, the shell and its programs show nobody their marker."""
    if hides:
        read = processes._read_marker
        monkeypatch.setattr(processes, "_read_marker", lambda one: None if one.name() in ("bash", "sh", "sleep") else read(one))
    stage.script({"call": [bash("setsid sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done' & sleep 600")]}, {"say": "x"})
    task = stage.start(yes)
    await until(lambda: len(stage.left()) >= 4)
    stage.port.order(Directive.STOP)
    outcome = await asyncio.wait_for(task, 20)
    assert outcome.kind is OutcomeKind.STOPPED
    if hides:
        await until(lambda: not stage.left(), within_s=5)  # the last `sleep 1` may outlive the loop that began it
    assert stage.left() == []


async def test_a_process_that_is_frozen_is_killed(stage: Stage) -> None:
    stage.script({"call": [bash(TWO_SLEEPERS)]}, {"say": "never said"})
    task = stage.start(yes)
    await until(lambda: sleepers(stage))
    os.kill(stage.port.pids[-1], signal.SIGSTOP)
    stage.port.order(Directive.STOP)
    outcome = await asyncio.wait_for(task, 20)
    assert outcome.kind is OutcomeKind.STOPPED
    assert stage.left() == []


async def test_a_stop_withdraws_what_is_open(stage: Stage) -> None:
    stage.script({"call": [bash("echo x > x.txt")]}, {"say": "never said"})
    task = stage.start(never)
    await until(lambda: stage.port.asks)
    stage.port.order(Directive.STOP)
    assert (await asyncio.wait_for(task, 15)).kind is OutcomeKind.STOPPED
    assert [word for _, word in stage.port.withdrawn] == ["withdrawn"]
    assert not (stage.workspace / "x.txt").exists()


async def test_a_worker_that_leaves_parks_the_run_and_another_goes_on(stage: Stage) -> None:
    stage.script({"call": [bash("echo one >> log.txt")]}, {"call": [bash("echo two >> log.txt; sleep 2")]}, {"say": "done"})
    task = stage.start(yes)
    await until(lambda: len(stage.port.asks) == 2 and sleepers(stage))
    stage.port.order(Directive.LEAVE)
    outcome = await asyncio.wait_for(task, 10)
    assert (outcome.kind, outcome.reason) == (OutcomeKind.PARKED, Reason.INTERRUPTED)
    assert stage.left() == []
    stage.port._directive = Directive.GO_ON
    stage.port._changed.clear()
    outcome = await stage.run(yes, prompt="[crewdesk:interrupted]\nGo on.")
    assert (outcome.kind, outcome.result) == (OutcomeKind.ENDED, "done")
    assert (stage.workspace / "log.txt").read_text().split() == ["one", "two", "two"]


async def test_a_worker_that_leaves_keeps_the_question_open(stage: Stage) -> None:
    stage.script({"call": [bash("echo x > x.txt")]}, {"say": "never said"})
    task = stage.start(never)
    await until(lambda: stage.port.asks)
    stage.port.order(Directive.LEAVE)
    assert (await asyncio.wait_for(task, 10)).kind is OutcomeKind.PARKED
    assert [word for _, word in stage.port.withdrawn] == ["parked"]


async def test_a_lost_run_is_killed_at_once_and_writes_nothing_more(stage: Stage) -> None:
    stage.script({"call": [bash(TWO_SLEEPERS)]}, {"say": "never said"})
    task = stage.start(yes)
    await until(lambda: len(sleepers(stage)) == 2)
    written = len(stage.port.steps)
    stage.port.order(Directive.LOST)
    began = time.monotonic()
    outcome = await asyncio.wait_for(task, 10)
    assert outcome.kind is OutcomeKind.LOST
    assert time.monotonic() - began < 3
    assert stage.left() == []
    assert len(stage.port.steps) == written


async def test_a_lease_that_is_lost_without_a_directive_ends_the_run(stage: Stage) -> None:
    stage.script({"call": [bash("echo one")]}, {"call": [bash("echo two")]}, {"say": "done"})

    def lose(step: object) -> None:
        if len(stage.port.of(StepKind.TOOL_RESULT)) == 1:
            stage.port._directive = Directive.LOST  # the next write is refused, nobody says so

    stage.port.on_step = lose
    outcome = await asyncio.wait_for(stage.run(yes), 10)
    assert outcome.kind is OutcomeKind.LOST


@SHOWS_MARKERS
async def test_a_killed_process_ends_its_life_and_the_next_life_goes_on(stage: Stage) -> None:
    stage.script({"call": [bash("echo one >> log.txt")]}, {"call": [bash("echo two >> log.txt; sleep 3")]}, {"say": "done"})
    task = stage.start(yes)
    await until(lambda: len(stage.port.asks) == 2 and sleepers(stage))
    os.kill(stage.port.pids[-1], signal.SIGKILL)
    outcome = await asyncio.wait_for(task, 20)
    assert (outcome.kind, outcome.reason, outcome.broken) == (OutcomeKind.FAILED, Reason.CRASHED, True)
    assert stage.left() == []
    outcome = await stage.run(yes, prompt="[crewdesk:interrupted]\nGo on.")
    assert (outcome.kind, outcome.result) == (OutcomeKind.ENDED, "done")
    assert (stage.workspace / "log.txt").read_text().split() == ["one", "two", "two"]
    assert {step.cost.process for step in stage.port.steps if step.cost} == {f"{stage.run_id}:2:1"}


async def test_a_question_of_a_killed_process_stays_open(stage: Stage) -> None:
    stage.script({"call": [bash("echo x > x.txt")]}, {"say": "never said"})
    task = stage.start(never)
    await until(lambda: stage.port.asks)
    os.kill(stage.port.pids[-1], signal.SIGKILL)
    assert (await asyncio.wait_for(task, 20)).broken
    assert [word for _, word in stage.port.withdrawn] == ["parked"]


async def test_a_binary_that_does_not_start_is_a_failure_in_words(stage: Stage) -> None:
    stage.script({"say": "never said"})
    outcome = await stage.run(env={"PATH": "/bin", "CREWDESK_NOTE": "x"}, workspace=str(stage.folder / "gone"))
    assert (outcome.kind, outcome.reason) == (OutcomeKind.FAILED, Reason.START_FAILED)
    assert "gone" in outcome.detail


async def test_the_agent_sees_nothing_of_the_workers_environment(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "do-not-tell")
    monkeypatch.setenv("DATABASE_URL", "postgres://u:do-not-tell@h/d")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "do-not-tell-either")
    stage.script({"call": [bash("env | sort > env.txt")]}, {"say": "done"})
    await stage.run(yes)
    seen = (stage.workspace / "env.txt").read_text()
    assert "do-not-tell" not in seen
    assert f"{launcher.MARKER}={stage.run_id}:1" in seen
    assert "CREWDESK_KEEP" not in seen
    assert f"HOME={stage.folder / 'home-1'}" in seen


@SHOWS_MARKERS
async def test_what_an_agent_leaves_in_the_background_ends_with_the_run(stage: Stage) -> None:
    stage.script({"call": [bash("setsid nohup sleep 600 > /dev/null 2>&1 &")]}, {"say": "done"})
    outcome = await stage.run(yes)
    assert outcome.kind is OutcomeKind.ENDED
    assert stage.left() == []


async def test_background_work_is_awaited_and_wakes_the_agent(stage: Stage) -> None:
    stage.script({"call": [bash("sleep 1; echo ready", run_in_background=True)]}, {"say": "I wait"}, {"say": "I saw it"})
    outcome = await stage.run(yes)
    assert outcome.kind is OutcomeKind.ENDED
    assert [step.text for step in stage.port.of(StepKind.SAID)] == ["I wait", "I saw it"]


async def test_a_background_command_that_never_ends_does_not_hold_the_run_for_ever(stage: Stage) -> None:
    stage.limits = replace(QUICK, background_s=0.5)
    stage.script({"call": [bash("sleep 600", run_in_background=True)]}, {"say": "I wait"})
    outcome = await asyncio.wait_for(stage.run(yes), 15)
    assert (outcome.kind, outcome.result) == (OutcomeKind.ENDED, "I wait")
    assert stage.left() == []


async def test_messages_reach_the_agent_between_calls_and_when_it_is_done(stage: Stage) -> None:
    stage.script({"call": [call("mcp__crew__TaskList")]}, {"say": "first"}, {"say": "second"})
    stage.port.due = ["The lead says: mind the tests."]

    def later(step: object) -> None:
        if stage.port.of(StepKind.SAID) and not stage.port.of(StepKind.RESULT) and len(stage.port.of(StepKind.PROMPT)) == 2:
            stage.port.due = ["The lead says: one more thing."]

    stage.port.on_step = later
    outcome = await stage.run(yes)
    assert outcome.result == "second"
    prompts = [step.text for step in stage.port.of(StepKind.PROMPT)]
    assert prompts[1:] == ["The lead says: mind the tests.", "The lead says: one more thing."]


async def test_a_line_of_more_than_a_megabyte_passes(stage: Stage) -> None:
    """N35, first: the SDK's own limit of 1 MiB a line would end the run."""
    stage.script({"say": "x" * 1_304_261, "call": [bash("echo one")]}, {"say": "done"})
    outcome = await stage.run(yes)
    assert (outcome.kind, outcome.result) == (OutcomeKind.ENDED, "done")
    (said, *_) = stage.port.of(StepKind.SAID)
    assert len(said.text) == 64 * 1024
    assert said.data["size"] == 1_304_261


async def test_answers_get_through_while_hundreds_of_messages_arrive(stage: Stage) -> None:
    """N35, third: the SDK's queue holds 100 messages; a sub-agent sends more while the main thread waits for the lead."""

    async def late(ask: Ask) -> Answer:
        await until(lambda: len(stage.port.steps) > 150, within_s=25)
        return Answer("allow")

    stage.script(
        {"call": [call("Agent", description="busy", prompt="list and list", subagent_type="general-purpose")]},
        {"call": [bash("echo x > x.txt")]},
        {"say": "done"},
        {"say": "saw it"},
        subagents={"list and list": [{"call": [call("mcp__crew__TaskList")] * 10}] * 10},
    )
    outcome = await asyncio.wait_for(stage.run(late), 40)
    assert outcome.kind is OutcomeKind.ENDED
    assert (stage.workspace / "x.txt").exists()
    assert len(stage.port.calls) == 100


async def test_steps_that_cannot_be_stored_park_the_run_instead_of_failing_it(stage: Stage) -> None:
    def full(step: object) -> None:
        if stage.port.of(StepKind.TOOL_RESULT):
            raise OSError("disk full")

    stage.port.on_step = full
    stage.script({"call": [bash("ls")]}, {"say": "done"})
    outcome = await asyncio.wait_for(stage.run(yes), 15)
    assert (outcome.kind, outcome.reason) == (OutcomeKind.PARKED, Reason.INTERRUPTED)


async def test_a_bad_rule_is_named_and_starts_nothing(stage: Stage) -> None:
    stage.script({"say": "never said"})
    outcome = await stage.run(allow=("Bahs(ls)",))
    assert (outcome.kind, outcome.reason) == (OutcomeKind.FAILED, Reason.START_FAILED)
    assert "Bahs" in outcome.detail


async def test_a_run_whose_task_is_cancelled_leaves_nothing(stage: Stage) -> None:
    stage.script({"call": [bash(TWO_SLEEPERS)]}, {"say": "never said"})
    task = stage.start(yes)
    await until(lambda: len(sleepers(stage)) == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: stage.left() == [])


async def test_a_session_that_was_never_stored_begins_anew(stage: Stage) -> None:
    stage.script({"say": "done"})
    outcome = await stage.run(session_id="11111111-2222-3333-4444-555555555555")
    assert outcome.result == "done"
    assert stage.port.sessions != ["11111111-2222-3333-4444-555555555555"]
