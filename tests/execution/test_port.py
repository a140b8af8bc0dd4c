"""The port of one life: batches, back-pressure, the brake, notes, and what outranks what."""

import asyncio
import threading

import pytest
from django.db import connection, transaction

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import Reason
from tasks_app.execution import db, port, waiting
from tasks_app.models import Checkpoint, Decision, Run, Step, Team
from tasks_app.runners.port import AskWithdrawn, Directive, Parked
from tasks_app.services import decisions, events, messages, runs
from tests.execution.lives import eventually, on_port, say
from tests.services import world


def cost(usd, process="p"):
    return say(cost=world.cost(process, usd))


def test_steps_are_stored_in_order_and_in_batches(crew):
    held = crew.claim()

    async def work(port):
        for number in range(30):
            await port.emit([say(str(number))])
        await port.flush()

    on_port(held, work)
    assert list(Step.objects.order_by("seq").values_list("seq", "text")) == [(n + 1, str(n)) for n in range(30)]
    assert world.kinds(crew.team).count("run.steps") <= 3


def test_a_later_life_goes_on_counting_where_the_last_one_stopped(crew):
    held = crew.claim()
    on_port(held, lambda port: emitted(port, "one"))
    on_port(world.next_life(held), lambda port: emitted(port, "two"))
    assert list(Step.objects.order_by("seq").values_list("seq", "fence")) == [(1, 1), (2, 2)]


async def emitted(port, *texts):
    await port.emit([say(t) for t in texts])
    await port.flush()


def test_a_database_that_is_slow_makes_the_runner_wait_and_loses_nothing(crew):
    held = crew.claim()
    locked, release = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            events.lock(crew.team.pk)
            locked.set()
            release.wait(20)
        connection.close()

    async def work(port):
        port._queue = asyncio.Queue(5)
        port._writer.cancel()
        port._writer = asyncio.create_task(port._write())
        blocker = threading.Thread(target=hold)
        blocker.start()
        await asyncio.to_thread(locked.wait, 20)
        emitting = asyncio.create_task(port.emit([say(str(n)) for n in range(40)]))
        done, _ = await asyncio.wait([emitting], timeout=0.5)
        assert not done, "the queue is full: the runner waits"
        release.set()
        await emitting
        await port.flush()
        blocker.join()

    on_port(held, work)
    assert list(Step.objects.order_by("seq").values_list("text", flat=True)) == [str(n) for n in range(40)]


def test_the_budget_brakes_while_the_run_is_running_at_80_95_and_100_percent(crew):
    held = crew.claim()
    told = []

    async def spend(port, usd):
        await port.emit([cost(usd)])
        await port.flush()
        told.append([len(await port.notes()), port.directive()])

    async def work(port):
        for usd in (15.9, 16.0, 16.1, 19.0, 19.5, 20.0):
            await spend(port, usd)
        return port.leaving_for

    assert on_port(held, work) is Reason.BUDGET
    go, leave = Directive.GO_ON, Directive.LEAVE
    assert told == [[0, go], [1, go], [0, go], [1, go], [0, go], [0, leave]]
    assert Checkpoint.objects.get().run_id == held.id
    assert world.kinds(crew.team).count("budget.level") == 3


def test_the_agent_is_told_what_is_left_in_words(crew):
    held = crew.claim()

    async def work(port):
        await port.emit([cost(16.5)])
        await port.flush()
        return await port.notes()

    assert "16.50 of 20.00 usd of the team" in on_port(held, work)[0]


def test_a_run_that_may_finish_with_a_smaller_model_is_not_braked_again(crew):
    held = crew.claim()
    Run.objects.update(budget_waived=True)

    async def work(port):
        await port.emit([cost(25.0)])
        await port.flush()
        return port.directive()

    assert on_port(held, work) is Directive.GO_ON


def test_notes_come_once_with_sender_and_id(crew):
    held = crew.claim()
    sent = messages.send(crew.team.pk, sender_agent_id=None, to="builder-1", body="Stop\nhere.", actor="user:ada")

    async def work(port):
        return [await port.notes(), await port.notes()]

    assert on_port(held, work) == [[f"[message {sent.pk} from lead]\nStop\nhere."], []]


def test_what_outranks_what(crew):
    held = crew.claim()

    async def work(port):
        seen = [port.directive()]
        for directive in (Directive.LEAVE, Directive.STOP, Directive.LEAVE, Directive.LOST, Directive.STOP, Directive.GO_ON):
            port.direct(directive)
            seen.append(port.directive())
        assert await port.directive_changed() is Directive.LOST
        with pytest.raises(LeaseLost):
            await port.emit([say()])
        with pytest.raises(LeaseLost):
            await port.flush()
        with pytest.raises(LeaseLost):
            await port.ask(world.ask())
        return seen

    leave, stop, lost = Directive.LEAVE, Directive.STOP, Directive.LOST
    assert on_port(held, work) == [Directive.GO_ON, leave, stop, stop, lost, lost, lost]
    assert not Step.objects.exists()
    assert not Decision.objects.exists()


@pytest.mark.parametrize(
    "write",
    [
        lambda port: port.note_session("s"),
        lambda port: port.note_process(1),
        lambda port: port.call_tool("TaskCreate", {"subject": "x", "description": "y"}, "toolu_1"),
        lambda port: port.ask(world.ask()),
        lambda port: emitted(port, "late"),
        lambda port: port.session_store.append({"project_key": "p", "session_id": "s"}, [{"type": "user"}]),
    ],
)
def test_a_life_that_lost_its_run_learns_it_from_any_write_and_writes_nothing(crew, write):
    held = crew.claim()
    messages.send(crew.team.pk, sender_agent_id=None, to="builder-1", body="x", actor="user:ada")
    world.next_life(held)
    before = world.frozen(crew.team)

    async def work(port):
        with pytest.raises(LeaseLost):
            await write(port)
        return port.directive()

    on_port(held, work)
    assert world.frozen(crew.team) == before


def test_a_call_of_a_crew_tool_is_the_agents_own(crew):
    held = crew.claim()

    async def work(port):
        return await port.call_tool("TaskCreate", {"subject": "Docs", "description": "All"}, "toolu_1")

    text, is_error = on_port(held, work)
    assert not is_error
    assert "Docs" in text
    assert crew.team.tasks.get(number=2).created_by == "agent:builder-1"


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


def test_an_answer_whose_wake_up_was_lost_comes_with_the_slow_timer(crew, quick):
    assert answering(crew.claim(), poke=False).choice == "allow"


def test_without_an_answer_within_the_grace_the_run_is_parked_and_so_is_every_other_request(crew):
    held = crew.claim()

    async def work(port):
        with pytest.raises(Parked):
            await port.ask(world.ask())
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


def faulty(monkeypatch, fails, error):
    """Let opening a request fail so many times, as it does while the database restarts."""
    real, left = decisions.open_for_run, [fails]

    def opening(*args):
        if left[0]:
            left[0] -= 1
            raise error
        return real(*args)

    monkeypatch.setattr(decisions, "open_for_run", opening)


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


def test_steps_that_cannot_be_stored_end_this_life_instead_of_being_lost_in_silence(crew, monkeypatch):
    held = crew.claim()

    def broken(*_, **__):
        raise ValueError("a fault of ours")

    monkeypatch.setattr(port.steps, "record", broken)

    async def work(port):
        await port.emit([say()])
        return await asyncio.wait_for(port.directive_changed(), 5)

    assert on_port(held, work) is Directive.LOST
    assert Run.objects.get().status == "running", "its lease runs out and the next life goes on"


def test_a_stop_while_waiting_reaches_the_runner_through_the_directive(crew):
    held = crew.claim()

    async def work(port):
        port.leave_for(Reason.TIME_LIMIT)
        port.leave_for(Reason.BUDGET)
        port.direct(Directive.STOP)
        return await port.directive_changed(), port.leaving_for

    assert on_port(held, work) == (Directive.STOP, Reason.TIME_LIMIT)


def test_closing_leaves_nothing_running(crew):
    held = crew.claim()

    async def work(port):
        await port.close()
        assert port._writer.done()
        assert port.closed.is_set()

    on_port(held, work)
    assert Team.objects.count() == 1
    assert runs.get(held.id).status == "running"
