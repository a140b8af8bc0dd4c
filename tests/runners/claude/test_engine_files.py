"""An order is heard while the files before a prompt are kept, which may take git minutes; the prompt is then not given."""

import asyncio

import pytest

from tasks_app.domain.statuses import StepKind
from tasks_app.runners.claude.orders import ENDINGS
from tasks_app.runners.fake_port import yes
from tasks_app.runners.port import Directive
from tests.runners.claude.conftest import Stage

pytestmark = pytest.mark.engine
ORDERS = [Directive.STOP, Directive.LEAVE, Directive.LOST]
SOON_S = 8.0


def git_takes_long(stage: Stage, *, before_prompt: int) -> asyncio.Event:
    """Let the files before a prompt never be kept; the event says that they are being kept."""
    begun, kept = asyncio.Event(), []

    async def keep_files() -> str:
        kept.append("")
        if len(kept) == before_prompt:
            begun.set()
            await asyncio.Event().wait()
        return ""

    stage.port.keep_files = keep_files  # type: ignore[method-assign]
    return begun


@pytest.mark.parametrize("order", ORDERS)
async def test_an_order_is_heard_before_the_first_prompt(stage: Stage, order: Directive) -> None:
    stage.script({"say": "never said"})
    begun = git_takes_long(stage, before_prompt=1)
    task = stage.start(yes)
    await asyncio.wait_for(begun.wait(), 15)
    stage.port.order(order)
    outcome = await asyncio.wait_for(task, SOON_S)
    assert outcome.kind is ENDINGS[order].kind
    assert stage.port.of(StepKind.PROMPT) == []


@pytest.mark.parametrize("order", ORDERS)
async def test_an_order_is_heard_before_a_message_is_given(stage: Stage, order: Directive) -> None:
    stage.script({"say": "one"}, {"say": "never said"})
    begun = git_takes_long(stage, before_prompt=2)
    stage.port.on_step = lambda step: stage.port.due.append("[message m1 from lead]") if step.text == "one" else None
    task = stage.start(yes)
    await asyncio.wait_for(begun.wait(), 15)
    stage.port.order(order)
    outcome = await asyncio.wait_for(task, SOON_S)
    assert outcome.kind is ENDINGS[order].kind
    assert len(stage.port.of(StepKind.PROMPT)) == 1


async def test_where_no_order_comes_the_prompt_has_the_files_that_were_kept(stage: Stage) -> None:
    async def keep_files() -> str:
        await asyncio.sleep(0.1)
        return "a" * 40

    stage.port.keep_files = keep_files  # type: ignore[method-assign]
    stage.script({"say": "one"})
    assert (await asyncio.wait_for(stage.run(yes), 20)).result == "one"
    assert stage.port.of(StepKind.PROMPT)[0].data["files"] == "a" * 40
