"""The port of one life: an urgent message is heard while the agent works, on a hint or without one."""

import asyncio

import pytest
from django.db import OperationalError

from tasks_app.execution import db, port
from tasks_app.models import Message
from tasks_app.services import messages
from tests.execution.lives import on_port

pytestmark = pytest.mark.usefixtures("database_threads")


def urgent(crew, body="Stop.", priority="interrupt"):
    messages.send(crew.team.pk, sender_agent_id=None, to="builder-1", body=body, priority=priority, actor="user:ada")


async def heard(port, *, within_s):
    done, _ = await asyncio.wait([asyncio.create_task(port.interruption())], timeout=within_s)
    return bool(done)


def test_an_urgent_message_is_heard_on_a_hint_and_without_one(crew, monkeypatch):
    held = crew.claim()
    monkeypatch.setattr(port, "LOOK_S", 3600)

    async def work(port):
        waiting = asyncio.create_task(port.interruption())
        await db.call(urgent, crew, "News.", "normal")
        port.poke()
        await asyncio.sleep(0.2)
        assert not waiting.done(), "a normal message stops nobody"
        await db.call(urgent, crew)
        port.poke()
        await asyncio.wait_for(waiting, 5)
        await port.note_interrupted()
        return await port.notes()

    notes = on_port(held, work)
    assert [note.partition("\n")[2] for note in notes] == ["News.", "Stop."]
    assert ", urgent]" in notes[1]
    assert Message.objects.filter(stopped_at__isnull=False).count() == 1
    monkeypatch.setattr(port, "LOOK_S", 0.05)
    urgent(crew)
    assert on_port(held, lambda port: heard(port, within_s=5))


def test_a_database_that_does_not_answer_for_a_moment_ends_nothing(crew, monkeypatch):
    held = crew.claim()
    monkeypatch.setattr(port, "LOOK_S", 0.05)
    answers = iter([OperationalError("gone"), True])

    def is_urgent(agent_id):
        found = next(answers)
        if found is True:
            return True
        raise found

    monkeypatch.setattr(messages, "is_urgent", is_urgent)
    assert on_port(held, lambda port: heard(port, within_s=5))


def test_an_agent_that_waits_for_the_lead_is_not_stopped_for_a_message(crew, monkeypatch):
    held = crew.claim()
    monkeypatch.setattr(port, "LOOK_S", 0.05)
    urgent(crew)

    async def work(port):
        port.waiting["d1"] += 1
        before = await heard(port, within_s=0.3)
        port.waiting["d1"] -= 1
        return before, await heard(port, within_s=5)

    assert on_port(held, work) == (False, True)
