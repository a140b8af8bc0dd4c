"""A request that is taken back in the moment in which it is being stored: withdrawn, or kept where its run only parks."""

import asyncio
import threading

import pytest

from tasks_app.domain.errors import LeaseLost
from tasks_app.execution import port
from tasks_app.models import Decision
from tasks_app.services import decisions
from tests.execution.lives import eventually, on_port
from tests.services import world

pytestmark = pytest.mark.usefixtures("database_threads")


def cancelled_while_stored(held, monkeypatch, then, *args):
    """As `cancelled_ask`, in the moment in which the request is being stored."""
    may_store, stores = threading.Event(), threading.Event()

    def slowly(*call):
        stores.set()
        may_store.wait(5)
        return open_for_run(*call)

    open_for_run = decisions.open_for_run
    monkeypatch.setattr(decisions, "open_for_run", slowly)

    async def work(port):
        asking = asyncio.create_task(port.ask(world.ask()))
        await eventually(stores.is_set)
        asking.cancel(*args)
        with pytest.raises(asyncio.CancelledError):
            await asking
        try:
            await then(port, may_store.set)
        finally:
            may_store.set()

    on_port(held, work)
    return Decision.objects.get()


def test_a_request_that_is_taken_back_while_it_is_being_stored_is_withdrawn_as_soon_as_it_is(crew, monkeypatch):
    monkeypatch.setattr(port, "WITHDRAW_S", 0.01)

    async def goes_on(port, store):
        store()
        await eventually(Decision.objects.filter(status="withdrawn").exists)

    assert cancelled_while_stored(crew.claim(), monkeypatch, goes_on).closed_why == "the agent took the request back"


def test_one_that_is_stored_after_its_port_closed_stays_open(crew, monkeypatch):
    monkeypatch.setattr(port, "WITHDRAW_S", 0.01)

    async def closes(port, store):
        await port.close()
        store()
        await eventually(Decision.objects.exists)
        await asyncio.sleep(0.1)

    assert cancelled_while_stored(crew.claim(), monkeypatch, closes).status == "open"


def test_one_that_was_being_stored_when_its_run_parked_on_another_stays_open(crew, monkeypatch):
    monkeypatch.setattr(port, "WITHDRAW_S", 0.01)

    async def parks(port, store):
        store()
        await eventually(Decision.objects.exists)
        await asyncio.sleep(0.1)

    assert cancelled_while_stored(crew.claim(), monkeypatch, parks, "parked").status == "open"


def test_that_one_taken_back_could_not_be_stored_is_logged_and_ends_nothing(crew, monkeypatch, caplog):
    held = crew.claim()
    refused = threading.Event()

    def refuse(*_):
        refused.wait(5)
        raise LeaseLost("another worker")

    monkeypatch.setattr(decisions, "open_for_run", refuse)

    async def work(port):
        asking = asyncio.create_task(port.ask(world.ask()))
        await asyncio.sleep(0.05)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        refused.set()
        await eventually(lambda: "could not be stored" in caplog.text)

    on_port(held, work)
    assert not Decision.objects.exists()
