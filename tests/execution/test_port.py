"""The port of one life: batches, back-pressure, the brake, notes, and what outranks what."""

import asyncio
import threading

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, transaction

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import Reason, StepKind
from tasks_app.execution import port, recorder
from tasks_app.models import Checkpoint, Decision, Run, Step, Team
from tasks_app.runners.port import Directive, StepDraft
from tasks_app.services import events, messages, runs
from tests.execution.lives import on_port, say
from tests.services import world

pytestmark = pytest.mark.usefixtures("database_threads")


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


def test_after_a_pause_a_step_is_written_at_once_and_what_follows_is_gathered(crew, monkeypatch):
    held = crew.claim()
    monkeypatch.setattr(port, "BATCH_S", 3600)

    async def work(port):
        await emitted(port, "at", "once")
        await port.emit([say("later")])
        await asyncio.sleep(0.1)
        gathered.append(await sync_to_async(texts)())
        await port.emit([say("more")])
        await port.flush()  # whoever waits for it does not wait for the pause of an hour

    gathered = []
    on_port(held, work)
    assert gathered == [["at", "once"]]
    assert texts() == ["at", "once", "later", "more"]
    assert world.kinds(crew.team).count("run.steps") == 2


def test_what_a_call_came_to_waits_for_no_batch(crew, monkeypatch):
    held = crew.claim()
    monkeypatch.setattr(port, "GATHER_S", 3600)
    monkeypatch.setattr(port, "BATCH_S", 3600)

    async def work(port):
        await port.emit([say("before")])
        await asyncio.sleep(0.1)
        found.append(await sync_to_async(texts)())
        await port.emit([StepDraft(StepKind.TOOL_RESULT, "done", tool_use_id="toolu_1")])
        async with asyncio.timeout(10):
            while len(found[-1]) < 2:
                await asyncio.sleep(0.02)
                found.append(await sync_to_async(texts)())

    found = []
    on_port(held, work)
    assert (found[0], found[-1]) == ([], ["before", "done"])


def texts():
    return list(Step.objects.order_by("seq").values_list("text", flat=True))


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


def test_steps_that_cannot_be_stored_end_this_life_instead_of_being_lost_in_silence(crew, monkeypatch):
    held = crew.claim()

    def broken(*_, **__):
        raise ValueError("a fault of ours")

    monkeypatch.setattr(recorder.steps, "record_all", broken)

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
        assert port.closed

    on_port(held, work)
    assert Team.objects.count() == 1
    assert runs.get(held.id).status == "running"


def test_the_files_of_a_later_lifes_first_prompt_are_kept_while_its_process_starts_and_of_the_next_prompt_when_it_comes(
    crew, monkeypatch
):
    held, order, begun = crew.claim(), [], threading.Event()

    def keep(run_id):
        order.append("kept")
        begun.set()
        return f"snapshot {order.count('kept')}"

    monkeypatch.setattr(port.dossier, "keep_files", keep)

    async def work(port):
        port.keep_ahead()
        assert await asyncio.to_thread(begun.wait, 10)
        order.append("process ready")
        return [await port.keep_files(), await port.keep_files()]

    assert on_port(held, work) == ["snapshot 1", "snapshot 2"]
    assert order == ["kept", "process ready", "kept"]
