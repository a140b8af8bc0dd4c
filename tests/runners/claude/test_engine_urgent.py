"""A message that cannot wait, on the real Claude Code process: what runs is stopped and the agent reads it next."""

import asyncio
import time

import pytest

from tasks_app.domain.statuses import StepKind
from tasks_app.runners.fake_port import yes
from tasks_app.runners.port import OutcomeKind
from tests.runners.claude.conftest import Stage, bash, until
from tests.runners.claude.test_engine_ends import sleepers

pytestmark = pytest.mark.engine
NOTE = "[message m12345678 from lead, urgent]\nStop: the folder is wrong."


async def test_a_running_sleep_is_stopped_and_the_message_is_what_the_agent_reads_next(stage: Stage) -> None:
    stage.script({"call": [bash("sh -c 'sleep 600; echo late > late.txt'")]}, {"call": [bash("echo b > b.txt")]}, {"say": "done"})
    task = stage.start(yes)
    await until(lambda: sleepers(stage))
    began = time.monotonic()
    stage.port.due.append(NOTE)
    stage.port.urgent.set()
    await until(lambda: stage.port.interrupted)
    took = time.monotonic() - began
    assert took < 3
    outcome = await asyncio.wait_for(task, 20)
    assert (outcome.kind, outcome.result) == (OutcomeKind.ENDED, "done")
    prompts = [step.text for step in stage.port.of(StepKind.PROMPT)]
    assert len(prompts) == 2
    assert prompts[1].startswith("[crewdesk:stopped] What you were doing was stopped")
    assert prompts[1].endswith(NOTE)
    assert sleepers(stage) == []
    assert (stage.workspace / "b.txt").exists()
    assert not (stage.workspace / "late.txt").exists()


async def test_two_urgent_messages_in_a_row_are_each_given_once(stage: Stage) -> None:
    stage.script(*({"call": [bash(f"sh -c 'sleep 60{n}; true'")]} for n in range(2)), {"say": "done"})
    task = stage.start(yes)
    seen: set[int] = set()
    for n in range(2):
        await until(lambda: set(sleepers(stage)) - seen)  # the first may be there for a moment yet when the second is asked for
        seen.update(sleepers(stage))
        stage.port.due.append(f"[message m0000000{n} from lead, urgent]\nStop.")
        stage.port.urgent.set()
        await until(lambda n=n: stage.port.interrupted == n + 1)
    outcome = await asyncio.wait_for(task, 30)
    assert outcome.result == "done"
    told = "\n".join(step.text for step in stage.port.of(StepKind.PROMPT))
    assert (told.count("m00000000"), told.count("m00000001")) == (1, 1)


@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.4])
async def test_one_that_comes_before_the_agent_has_begun_is_read_and_breaks_nothing(stage: Stage, after_s: float) -> None:
    stage.script({"call": [bash("echo a > a.txt")]}, {"call": [bash("echo b > b.txt")]}, {"say": "done"})
    task = stage.start(yes)
    await asyncio.sleep(after_s)
    stage.port.due.append(NOTE)
    stage.port.urgent.set()
    outcome = await asyncio.wait_for(task, 30)
    assert outcome.kind is OutcomeKind.ENDED
    assert "\n".join(step.text for step in stage.port.of(StepKind.PROMPT)).count(NOTE) == 1
