"""The transcript store keeps the SDK's own contract, and the fence of the run it belongs to."""

import asyncio

import pytest
from claude_agent_sdk.testing import run_session_store_conformance

from tasks_app.domain.errors import LeaseLost
from tasks_app.execution import db
from tasks_app.execution.session_store import DatabaseSessionStore
from tasks_app.models import TranscriptEntry
from tasks_app.services import runs
from tests.services import world

KEY = {"project_key": "p", "session_id": "s"}


@pytest.mark.usefixtures("database_threads")
def test_the_store_passes_the_sdks_conformance_suite():
    made = []

    async def fresh():
        await db.call(TranscriptEntry.objects.all().delete)
        made.append(1)
        return DatabaseSessionStore()

    asyncio.run(run_session_store_conformance(fresh))
    assert len(made) > 10


@pytest.mark.usefixtures("database_threads")
def test_a_life_that_lost_its_run_writes_no_line():
    held = world.make().claim()
    store = DatabaseSessionStore(run_id=held.id, fence=held.fence)
    asyncio.run(store.append(KEY, [{"type": "user", "uuid": "1"}]))
    world.next_life(held)
    with pytest.raises(LeaseLost):
        asyncio.run(store.append(KEY, [{"type": "user", "uuid": "2"}]))
    assert asyncio.run(store.load(KEY)) == [{"type": "user", "uuid": "1"}]


@pytest.mark.usefixtures("database_threads")
def test_lines_come_back_exactly_as_they_went_in_nul_and_lone_surrogates_too():
    """N20"""
    line = {"type": "user", "uuid": "1", "message": {"content": "현\ud99c \0 👩‍👩‍👧‍👦"}, "big": "🚀é漢" * 300_000}
    store = DatabaseSessionStore()
    asyncio.run(store.append(KEY, [line]))
    assert asyncio.run(store.load(KEY)) == [line]


@pytest.mark.usefixtures("database_threads")
def test_a_line_with_a_known_uuid_is_kept_once_and_one_without_every_time():
    store = DatabaseSessionStore()
    for _ in range(2):
        asyncio.run(store.append(KEY, [{"type": "user", "uuid": "1"}, {"type": "summary"}]))
    assert [line["type"] for line in asyncio.run(store.load(KEY))] == ["user", "summary", "summary"]


@pytest.mark.django_db(transaction=True)
def test_a_run_can_be_resumed_only_once_its_task_is_in_the_transcript():
    crew = world.make()
    held = crew.claim()
    store = DatabaseSessionStore(run_id=held.id, fence=held.fence)
    asyncio.run(store.append(KEY, [{"type": "queue-operation"}]))
    assert not runs.get(held.id).started_session
    asyncio.run(store.append(KEY, [{"type": "user", "message": {"content": "[crewdesk:task T-1 attempt 1]\n\nDo it."}}]))
    assert runs.get(held.id).started_session
