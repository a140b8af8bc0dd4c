"""N35: a line of 1.3 MB passes, one of 80 MB ends the life once, and hundreds of messages do not shut out an answer."""

import asyncio

import pytest

from tasks_app.execution import db, drive
from tasks_app.models import Decision, Run, Step, TranscriptEntry
from tasks_app.runners.claude.content import PREVIEW
from tests.cases.conftest import driven
from tests.execution.lives import eventually
from tests.runners.claude.fake_cli import BIG_LINE, MANY, TOO_BIG
from tests.runners.claude.fakes import Memory
from tests.services import world

pytestmark = pytest.mark.usefixtures("database_threads")


def test_a_line_of_1_304_261_bytes_passes_and_its_row_keeps_a_preview_and_where_the_rest_is(crew, playing):
    binary = playing("big_line")
    memory = Memory()
    driven(crew.claim())
    assert binary.told("line") == [BIG_LINE]
    row = Step.objects.get(kind="tool_result")
    assert (len(row.text), row.data["cut"], row.tool_use_id) == (PREVIEW, True, "toolu_big")
    assert row.data["size"] > 600_000
    assert len(TranscriptEntry.objects.get(entry__contains="toolu_big").entry) > row.data["size"]
    assert [step.text for step in Step.objects.filter(kind="said")] == ["and on 0", "and on 1", "and on 2"]
    assert (Run.objects.get().status, crew.task().status) == ("completed", "completed")
    assert memory.grown() < 30_000_000


def test_a_line_of_80_mb_ends_the_life_in_words_and_the_session_is_resumed_by_a_new_process(crew, playing):
    binary = playing("too_big_once")
    held = crew.claim()
    memory = Memory()
    driven(held)
    grown = memory.grown()
    run = Run.objects.get()
    assert (run.status, run.reason, run.overflowed) == ("pending", "output_too_large", True)
    assert run.detail == "Claude Code sent more in one message than can be read."
    driven(world.take(held.id))
    assert binary.told("resumes") == ["", run.session_id]
    assert "too large to be read" in binary.told("prompt")[1]
    assert (Run.objects.get().status, Run.objects.count(), crew.task().status) == ("completed", 1, "completed")
    assert grown < 3 * TOO_BIG


def test_a_second_line_of_80_mb_fails_the_attempt_instead_of_going_round_in_a_loop(crew, playing):
    binary = playing("too_big")
    held = crew.claim()
    driven(held)
    driven(world.take(held.id))
    run = Run.objects.get(pk=held.id)
    assert (run.status, run.reason) == ("failed", "output_too_large")
    assert len(binary.told("resumes")) == 2
    assert crew.task().attempts == 1


def test_while_a_request_waits_300_messages_are_stored_and_the_answer_still_gets_through(crew, playing):
    """However long the lead waits: here until everything that was said is in the database."""
    binary = playing("chatter", stored_s=0.2)
    held = crew.claim()

    async def life():
        port = await drive.open_port(held)
        driving = asyncio.create_task(drive.drive(held, port))
        decision = await eventually(Decision.objects.first, patience_s=20)
        await eventually(lambda: Step.objects.filter(text__startswith="message ").count() == MANY, patience_s=30)
        assert binary.told("answer") == []
        await db.call(world.answer, decision, "allow")
        port.poked.set()
        await asyncio.wait_for(driving, 20)

    asyncio.run(life())
    assert binary.told("all said") == [MANY]
    assert Step.objects.filter(text="heard: allow").exists()
    assert crew.task().status == "completed"
