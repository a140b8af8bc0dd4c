"""What a life of a run asks of git holds up nobody else."""

import asyncio
import threading

import pytest

from tasks_app.domain.budget import Level
from tasks_app.execution import db
from tasks_app.services import budgets, snapshots
from tests.execution.lives import on_port

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
