"""Waiting for the lead: answered attached, parked, withdrawn, or unavailable; never taken for consent."""

import asyncio

import pytest

from tasks_app.domain import leases
from tasks_app.execution import db, port, waiting
from tasks_app.models import Decision
from tasks_app.runners.claude.desk import Desk
from tasks_app.runners.port import AskWithdrawn, Directive, Parked
from tasks_app.services import decisions, deliveries, scheduling
from tests.execution.lives import eventually, on_port
from tests.services import world

pytestmark = pytest.mark.usefixtures("database_threads")


def cancelled_ask(held, then):
    """Ask, be cancelled while waiting, then see what `then(port)` makes of it."""

    async def work(port):
        asking = asyncio.create_task(port.ask(world.ask()))
        await eventually(Decision.objects.exists)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await then(port)

    on_port(held, work)
    return Decision.objects.get()


def test_a_request_that_claude_code_takes_back_is_withdrawn(crew, monkeypatch):
    """N23 (a)"""
    monkeypatch.setattr(port, "WITHDRAW_S", 0.01)

    async def goes_on(port):
        await eventually(Decision.objects.filter(status="withdrawn").exists)

    closed = cancelled_ask(crew.claim(), goes_on)
    assert closed.closed_why == "the agent took the request back"


@pytest.mark.parametrize("end", ["closing", "parking", "leaving", "lost"])
def test_a_request_whose_process_is_ending_stays_open_for_the_next_life(crew, monkeypatch, end):
    monkeypatch.setattr(port, "WITHDRAW_S", 0.05)

    async def ends(port):
        if end == "closing":
            await port.close()
        elif end == "parking":
            port.parking = True
        else:
            port.direct(Directive.LEAVE if end == "leaving" else Directive.LOST)
        await asyncio.sleep(0.2)

    assert cancelled_ask(crew.claim(), ends).status == "open"


@pytest.fixture
def quick(monkeypatch):
    """The slow timer, faster."""
    monkeypatch.setattr(waiting, "LOOK_S", 0.2)


def answering(held, *, poke, **words):
    """Ask and be answered by somebody else while waiting; returns the answer."""

    async def work(port):
        asking = asyncio.create_task(port.ask(world.ask()))
        decision = await eventually(Decision.objects.first)
        await db.call(world.answer, decision, "allow", **words)
        if poke:
            port.poked.set()
        return await asyncio.wait_for(asking, 5)

    return on_port(held, work)


def test_an_answer_comes_with_its_words_and_who_gave_it(crew):
    got = answering(crew.claim(), poke=True, note="Go.", by="ada")
    assert (got.choice, got.note, got.by) == ("allow", "Go.", "ada")
    assert Decision.objects.get().delivered_fence == 1


def test_a_fault_in_giving_out_tasks_refuses_no_request(crew, monkeypatch):
    tick, faults = scheduling.tick, [RuntimeError("a fault of ours")]

    def faulty(team_id):
        if faults:
            raise faults.pop()
        tick(team_id)

    held = crew.claim()
    monkeypatch.setattr(scheduling, "tick", faulty)
    assert answering(held, poke=True).choice == "allow"
    assert not faults


def test_an_answer_whose_wake_up_was_lost_comes_with_the_slow_timer(crew, quick):
    assert answering(crew.claim(), poke=False).choice == "allow"


def test_the_slow_timer_is_the_five_seconds_that_are_promised(crew, monkeypatch):
    """With every wake-up dropped, the longest sleep between two looks is what an answer waits for at most."""
    assert (leases.LOOK_S <= 5, waiting.LOOK_S, port.LOOK_S) == (True, leases.LOOK_S, leases.LOOK_S)
    slept = []

    async def sleep(waited_for, seconds):
        waited_for.close()
        slept.append(seconds)
        if len(slept) == 1:
            await db.call(world.answer, await db.call(Decision.objects.get), "allow")
        raise TimeoutError

    monkeypatch.setattr(waiting, "wait_for", sleep)
    on_port(crew.claim(), lambda port: port.ask(world.ask()), grace_s=600.0)
    assert slept == [leases.LOOK_S]


def test_without_an_answer_within_the_grace_the_run_is_parked_and_so_is_every_other_request(crew):
    held = crew.claim()

    async def work(port):
        with pytest.raises(Parked):
            await port.ask(world.ask())
        port._grace_s = 60.0  # its own grace would be long
        with pytest.raises(Parked):
            await asyncio.wait_for(port.ask(world.ask(input={"command": "make"})), 5)
        return port.parking

    assert on_port(held, work, grace_s=0.05) is True
    assert list(Decision.objects.values_list("status", flat=True)) == ["open", "open"]


@pytest.mark.parametrize("directive", [Directive.LEAVE, Directive.STOP])
def test_a_worker_that_leaves_or_stops_parks_what_waits_at_once(crew, directive):
    held = crew.claim()

    async def work(port):
        asking = asyncio.create_task(port.ask(world.ask()))
        await eventually(Decision.objects.exists)
        port.direct(directive)
        with pytest.raises(Parked):
            await asyncio.wait_for(asking, 3)

    on_port(held, work)
    assert Decision.objects.get().status == "open"


def test_an_answer_that_is_there_already_is_taken_even_when_leaving(crew):
    held = crew.claim()
    decision = decisions.open_for_run(held.id, held.fence, world.ask())
    world.answer(decision, "deny", note="No.")

    async def work(port):
        port.direct(Directive.LEAVE)
        return await port.ask(world.ask())

    assert on_port(held, work).choice == "deny"


def test_a_request_that_ends_without_an_answer_says_that_this_is_no_consent(crew, quick):
    """N25, N23"""
    held = crew.claim()

    async def work(port):
        asking = asyncio.create_task(port.ask(world.ask()))
        decision = await eventually(Decision.objects.first)
        await db.call(decisions.withdraw, decision.pk, why="the page was closed")
        with pytest.raises(AskWithdrawn, match=r"ended without an answer: the page was closed. That is not consent"):
            await asyncio.wait_for(asking, 5)

    on_port(held, work)


def faulty(monkeypatch, fails, error, *, module=decisions, name="open_for_run"):
    """Let opening a request (or another service) fail so many times, as it does while the database restarts."""
    real, left = getattr(module, name), [fails]

    def failing(*args, **more):
        if left[0]:
            left[0] -= 1
            raise error
        return real(*args, **more)

    monkeypatch.setattr(module, name, failing)


def test_an_approval_service_that_is_away_for_a_while_is_asked_again_and_nobody_has_denied(crew, monkeypatch, quick):
    """N26"""
    faulty(monkeypatch, 2, db.OperationalError("the database restarts"))
    assert answering(crew.claim(), poke=False).choice == "allow"


def test_an_approval_service_that_stays_away_is_no_denial_and_no_consent(crew, monkeypatch):
    """N26"""
    monkeypatch.setattr(db, "PATIENCE_S", 0.0)
    faulty(monkeypatch, 9, db.OperationalError("gone"))

    async def work(port):
        with pytest.raises(AskWithdrawn, match="approval service does not answer; nobody has denied this"):
            await port.ask(world.ask())
        return port.directive()

    assert on_port(crew.claim(), work) is Directive.GO_ON
    assert not Decision.objects.exists()


def test_a_database_that_goes_away_while_a_request_waits_delays_its_answer_and_loses_nothing(crew, monkeypatch, quick):
    """N26"""
    held = crew.claim()

    async def work(port):
        asking = asyncio.create_task(port.ask(world.ask()))
        decision = await eventually(Decision.objects.first)
        faulty(monkeypatch, 2, db.OperationalError("the database restarts"), module=deliveries, name="deliver")
        port.poked.set()
        await db.call(world.answer, decision, "deny", note="No.")
        return await asyncio.wait_for(asking, 10)

    assert on_port(held, work).choice == "deny"
    assert Decision.objects.get().delivered_fence == held.fence


def test_one_that_stays_away_while_a_request_waits_lets_nothing_run_and_the_request_is_kept(crew, monkeypatch, quick):
    """N26"""
    held = crew.claim()

    async def work(port):
        desk = Desk(port, wake=lambda: None)
        asking = asyncio.create_task(desk.ask(world.ask()))
        await eventually(Decision.objects.exists)
        monkeypatch.setattr(db, "PATIENCE_S", 0.0)
        faulty(monkeypatch, 9, db.OperationalError("gone"), module=deliveries, name="deliver")
        port.poked.set()
        return await asyncio.wait_for(asking, 10)

    refused = on_port(held, work)
    assert (refused.behavior, "approval service is unavailable" in refused.message) == ("deny", True)
    assert "The lead did not deny it" in refused.message
    assert Decision.objects.get().status == "open"
