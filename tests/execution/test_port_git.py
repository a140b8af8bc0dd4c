"""What a life of a run asks of git holds up nobody else, and where it cannot be had the life goes on."""

import asyncio
import threading

import pytest

from tasks_app.domain.budget import Level
from tasks_app.domain.errors import Invalid
from tasks_app.execution import db
from tasks_app.models import Step
from tasks_app.runners.port import Directive
from tasks_app.services import budgets, checkpoints, snapshots
from tests.execution.lives import on_port, say
from tests.services import world

pytestmark = pytest.mark.usefixtures("database_threads")


async def by_tools(port):
    names = [f"c{number}" for number in range(db.THREADS)]
    return await asyncio.gather(*(port.call_tool("SaveCheckpoint", {"name": name}, f"toolu_{name}") for name in names))


async def by_the_brake(port):
    nearly = budgets.Reading(Level.CHECKPOINT, "team", "usd", 19.5, 20.0)
    return await asyncio.gather(*(port._brake(nearly) for _ in range(db.THREADS)))


@pytest.mark.parametrize("save", [by_tools, by_the_brake])
def test_as_many_checkpoints_as_there_are_database_threads_leave_those_to_others(crew, monkeypatch, save):
    held = crew.claim()
    began, over = threading.Event(), threading.Event()

    def slow(*_):
        began.set()
        over.wait(30)
        return ""

    monkeypatch.setattr(snapshots, "take", slow)
    monkeypatch.setattr(budgets, "note_level", lambda *_: True)

    async def work(port):
        saving = asyncio.ensure_future(save(port))
        try:
            assert await asyncio.to_thread(began.wait, 10)
            async with asyncio.timeout(10):
                await asyncio.gather(*(db.call(lambda: None) for _ in range(db.THREADS)))
        finally:
            over.set()
            await saving

    on_port(held, work)
    assert crew.team.checkpoints.count() == db.THREADS


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), Invalid("The checkpoint needs a name.")])
def test_a_checkpoint_that_cannot_be_saved_at_95_percent_ends_no_life_and_the_agent_is_told_to_wrap_up(
    crew, monkeypatch, caplog, problem
):
    held = crew.claim()

    def fails(*_, **__):
        raise problem

    monkeypatch.setattr(checkpoints, "save", fails)

    async def work(port):
        await port.emit([say(cost=world.cost("p", 19.5))])
        await port.flush()
        await port.emit([say("I go on.")])
        await port.flush()
        return port.directive(), await port.notes()

    directive, notes = on_port(held, work)
    assert directive is Directive.GO_ON
    assert "nearly used" in notes[0]
    assert Step.objects.count() == 2
    assert "no checkpoint at “budget 19.50 of 20.00 usd of the team”" in caplog.text
