"""A worker removes what has aged out, beside everything else, and only where a rule is set."""

import asyncio
import os
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async

from tasks_app.execution import ageing
from tasks_app.models import KeyedRequest, Step
from tasks_app.services import pruning, snapshot_store, workspaces
from tests import factories as make
from tests.factories import ago
from tests.services.forking import tried


@pytest.mark.usefixtures("database_threads")
async def test_a_worker_removes_what_has_aged_out(settings):
    settings.KEEP_STEPS_DAYS = 30
    await sync_to_async(lambda: make.StepFactory(run=make.RunFactory(ended=True, ended_at=ago(days=31))))()
    looking = asyncio.ensure_future(ageing.look_after(every_s=0))
    try:
        async with asyncio.timeout(10):
            while await sync_to_async(Step.objects.exists)():  # noqa: ASYNC110 - the database is what is watched
                await asyncio.sleep(0.01)
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def test_without_a_rule_no_worker_looks_at_all():
    await asyncio.wait_for(ageing.look_after(every_s=60), timeout=1)


@pytest.mark.files
@pytest.mark.usefixtures("database_threads")
async def test_a_worker_prunes_snapshots_with_no_rule_at_all(tmp_path: Path):
    one = await sync_to_async(tried)(tmp_path / "work")
    store = workspaces.root(one.crew.team.slug) / snapshot_store.STORE
    os.utime(store / "HEAD", (1, 1))
    looking = asyncio.ensure_future(ageing.look_after_snapshots(every_s=0))
    try:
        async with asyncio.timeout(10):
            while not (workspaces.root(one.crew.team.slug) / "snapshots.pruned").exists():  # noqa: ASYNC110 - the disk is watched
                await asyncio.sleep(0.01)
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    assert await sync_to_async(pruning.unneeded)(one.crew.team) == 0


@pytest.mark.usefixtures("database_threads")
async def test_a_worker_forgets_requests_that_cannot_come_again():
    def known():
        return set(KeyedRequest.objects.values_list("key", flat=True))

    await sync_to_async(KeyedRequest.objects.bulk_create)(
        [KeyedRequest(key="old", made="1", at=ago(hours=25)), KeyedRequest(key="new", made="2", at=ago(hours=23))]
    )
    looking = asyncio.ensure_future(ageing.look_after_requests(every_s=0))
    try:
        async with asyncio.timeout(10):
            while "old" in await sync_to_async(known)():  # noqa: ASYNC110 - the database is what is watched
                await asyncio.sleep(0.01)
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    assert await sync_to_async(known)() == {"new"}
