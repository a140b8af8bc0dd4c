"""A commit is done and its answer is lost, for PostgreSQL restarts: what is tried again finds what it has done itself."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError

from tasks_app.domain.leases import DEATHS
from tasks_app.domain.statuses import RunStatus
from tasks_app.execution import db, drive, outcome
from tasks_app.models import Checkpoint, ContextEntry, CrewCall, Decision, Run, Team
from tasks_app.runners.claude.desk import Desk
from tasks_app.runners.port import Directive
from tasks_app.services import (
    budgets,
    checkpoints,
    claims,
    deliveries,
    messages,
    recovery,
    runs,
    tasks,
)
from tasks_app.tools import registry
from tests.execution.lives import ENDED, done, drive_on, eventually, on_port, run_of
from tests.execution.lives import outcome as ends
from tests.services import world

Lose = Callable[..., None]
pytestmark = pytest.mark.usefixtures("database_threads")
AWAY = OperationalError("the answer of the commit was lost")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is tried at once."""
    monkeypatch.setattr(db.time, "sleep", lambda _: None)


@pytest.fixture
def lose(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lose]:
    """Return a function that makes a service do all and then, once, tell nobody."""
    all_left: dict[str, list[Exception]] = {}

    def broken(module: Any, name: str) -> None:
        real, left = getattr(module, name), all_left.setdefault(name, [AWAY])

        def service(*given: Any, **more: Any) -> Any:
            found = real(*given, **more)
            if left and found is not None:
                raise left.pop()
            return found

        monkeypatch.setattr(module, name, service)

    yield broken
    assert not [name for name, left in all_left.items() if left], "its answer was never lost"


def kinds(crew: world.World, kind: str) -> int:
    return world.kinds(crew.team).count(kind)


def test_a_message_is_told_to_the_life_it_was_taken_for_and_its_receipt_is_one(crew: world.World, lose: Lose) -> None:
    held = crew.claim()
    messages.send(
        crew.team.pk, sender_agent_id=None, to="builder-1", body="STOP deleting!", priority="interrupt", actor="user:ada"
    )
    lose(messages, "take_due")
    told = on_port(held, lambda port: port.notes(idle=True))
    assert len(told) == 1
    assert "STOP deleting!" in told[0]
    assert kinds(crew, "message.delivered") == 1
    assert on_port(held, twice_noted)[1] == []


async def twice_noted(port: Any) -> list[list[str]]:
    return [list(await port.notes(idle=True)), list(await port.notes(idle=True))]


@pytest.mark.parametrize(("used", "acts"), [(25, Directive.LEAVE), (19.2, Directive.GO_ON)])
def test_a_budget_brakes_though_nobody_heard_that_its_level_was_noted(
    crew: world.World, lose: Lose, used: float, acts: Directive
) -> None:
    held = crew.claim()
    Team.objects.update(budget_usd=20, used_usd=used)
    lose(budgets, "note_level")
    if acts is Directive.GO_ON:
        lose(checkpoints, "save")

    async def work(port: Any) -> tuple[Directive, list[str]]:
        await port.emit([world.say(usage=world.usage("msg_1"))])
        await port.flush()
        return port.directive(), list(await port.notes(idle=True))

    directive, notes = on_port(held, work)
    assert directive is acts
    assert [("The budget is nearly used" in note) for note in notes] == [True] * (acts is Directive.GO_ON)
    assert (kinds(crew, "budget.level"), Checkpoint.objects.count()) == (1, len(notes))


def test_what_was_used_up_when_the_worker_was_killed_stops_the_next_life_too(crew: world.World) -> None:
    Team.objects.update(budget_tokens=1000, used_tokens=2000)
    held = crew.claim()
    assert budgets.note_level(held.id, budgets.read(held.id))
    world.expire_lease(held.id)
    recovery.take_back_expired()

    async def work(port: Any) -> Directive:
        await port.emit([world.say(usage=world.usage("msg_1"))])
        await port.flush()
        return port.directive()

    assert on_port(world.take(held.id), work) is Directive.LEAVE
    assert kinds(crew, "budget.level") == 1


@pytest.mark.usefixtures("scripted")
def test_an_agent_is_asked_for_its_report_though_nobody_heard_that_it_will_be(crew: world.World, lose: Lose) -> None:
    held = crew.claim()
    lose(outcome, "settle")
    drive_on(held, ends(ENDED.kind), done())
    run = run_of(held)
    assert (run.status, run.asked_to_report, Run.objects.count()) == ("completed", True, 1)


def test_an_answer_reaches_the_call_that_waits_for_it_and_only_that(crew: world.World, lose: Lose) -> None:
    held = crew.claim()
    lose(deliveries, "deliver")

    async def work(port: Any) -> tuple[Any, bool]:
        desk = Desk(port, wake=lambda: None)
        asking = asyncio.create_task(desk.ask(world.ask()))
        decision = await eventually(Decision.objects.first)
        await db.call(world.answer, decision, "allow")
        port.poke()
        return await asyncio.wait_for(asking, 10), desk.lost

    answer, is_lost = on_port(held, work)
    assert (answer.choice, is_lost) == ("allow", False)
    assert kinds(crew, "decision.delivered") == 1
    with pytest.raises(deliveries.HandedOver):
        deliveries.deliver(Decision.objects.get().pk, held.fence)


def test_of_two_calls_with_the_same_words_each_has_an_answer_of_its_own(crew: world.World) -> None:
    held = crew.claim()

    async def work(port: Any) -> list[str]:
        both = [asyncio.create_task(port.ask(world.ask(tool_use_id=name))) for name in ("toolu_1", "toolu_2")]
        await eventually(lambda: max(port.waiting.values(), default=0) == 2)
        for count, choice in ((1, "allow"), (2, "deny")):
            waits = await eventually(lambda: Decision.objects.filter(status="open").first())
            assert await db.call(Decision.objects.count) == count
            await db.call(world.answer, waits, choice)
            port.poke()
        return [answer.choice for answer in await asyncio.wait_for(asyncio.gather(*both), 15)]

    choices = on_port(held, work)
    assert sorted(choices) == ["allow", "deny"]
    # what spends an answer is the result of the call that had it
    for decision in Decision.objects.all():
        assert choices[int(decision.tool_use_id.removeprefix("toolu_")) - 1] == decision.choice


def test_of_two_looks_for_messages_at_once_one_has_them(crew: world.World) -> None:
    held = crew.claim()
    messages.send(crew.team.pk, sender_agent_id=None, to="builder-1", body="Hi", actor="user:ada")

    async def work(port: Any) -> list[int]:
        return sorted(len(notes) for notes in await asyncio.gather(port.notes(idle=True), port.notes(idle=True)))

    assert on_port(held, work) == [0, 1]


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize("what", ["settle", "build"])
def test_a_database_that_is_away_for_too_long_fails_no_attempt(
    crew: world.World, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """It goes on when its lease is over, with all that it has reported."""
    held = crew.claim()
    monkeypatch.setattr(db, "PATIENCE_S", 0.0)
    where = {"settle": outcome, "build": drive.spec}[what]
    real, left = getattr(where, what), [AWAY]

    def away(*given: Any, **more: Any) -> Any:
        if left:
            raise left.pop()
        return real(*given, **more)

    monkeypatch.setattr(where, what, away)
    drive_on(held, *([done()] if what == "settle" else []))
    assert (run_of(held).status, Run.objects.count()) == ("running", 1)
    world.expire_lease(held.id)
    recovery.take_back_expired()
    drive_on(world.take(held.id), *([] if what == "settle" else [done()]))
    assert (run_of(held).status, Run.objects.count()) == ("completed", 1)


@pytest.mark.usefixtures("scripted")
def test_an_end_that_can_never_be_stored_fails_the_attempt_in_words(crew: world.World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It did begin again for ever: the error looks like that of an absent database."""
    monkeypatch.setattr(db, "PATIENCE_S", 0.0)
    real = outcome.deliveries.end

    def unstorable(run_id: str, fence: int, ending: Any, **more: Any) -> None:
        if ending.status is RunStatus.COMPLETED:
            raise OperationalError("string or blob too big")
        real(run_id, fence, ending, **more)

    monkeypatch.setattr(outcome.deliveries, "end", unstorable)
    held = crew.claim()

    async def tries_again(spec: Any, port: Any) -> Any:
        await port.emit([world.say("I begin again.")])
        return await done()(spec, port)

    for _ in range(DEATHS - 1):
        runs.report(held.id, held.fence, None)  # its agent goes on working in each life
        drive_on(held, tries_again)
        assert run_of(held).status == "running"
        held = world.next_life(held)
    runs.report(held.id, held.fence, None)
    drive_on(held, tries_again)
    ended = run_of(held)
    assert (ended.status, ended.reason) == ("failed", "error")
    assert "fault of its own" in ended.detail


@pytest.mark.usefixtures("scripted")
def test_what_was_claimed_by_a_commit_whose_answer_was_lost_goes_on_at_once(crew: world.World, lose: Lose) -> None:
    held = crew.claim()
    tasks.create(crew.team.pk, tasks.Draft("Second", criteria=("It works.",), role="builder"), actor="system")
    here = outcome.Here("w1", "h", has_room=lambda: True)
    lose(outcome, "settle")
    following = drive_on(held, done(), here=here)
    second = Run.objects.exclude(pk=held.id).get()
    assert (following.id, following.fence, second.status, second.worker) == (second.pk, 1, "running", "w1")
    assert here.tried == {}, "it is the worker's, for every life"


def test_runs_of_one_team_are_driven_though_those_of_another_could_not_be_claimed_at_first(
    crew: world.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = world.make(agents=1)
    both = [runs.claim_task(one.tasks[0].pk, agent_id=one.agents[0].pk, actor="system").pk for one in (crew, other)]
    real, calls = claims._claim, []

    def claim(*given: Any, **more: Any) -> Any:
        calls.append(given)
        if len(calls) == 2:
            raise AWAY
        return real(*given, **more)

    monkeypatch.setattr(claims, "_claim", claim)
    won = db.patiently(claims.claim_all, both, worker="w1", host="h", tried={})
    assert {held.id for held in won} == set(both)
    assert {run.fence for run in Run.objects.all()} == {1}


def test_runs_whose_claim_was_not_answered_are_driven_and_those_of_others_are_not(crew: world.World, lose: Lose) -> None:
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    lose(claims, "claim_all")
    tried: dict[str, Any] = {}
    assert [held.id for held in db.patiently(claims.claim_all, [run.pk], worker="w1", host="h", tried=tried)] == [run.pk]
    world.expire_lease(run.pk)
    assert claims.confirmed(tried, worker="w1") == [], "others may take it at any moment"
    recovery.take_back_expired()
    claims.claim(run.pk, worker="w2", host="h")
    assert claims.confirmed(tried, worker="w1") == claims.confirmed(tried, worker="w2") == []


@pytest.mark.parametrize(
    ("name", "given", "event"),
    [
        ("ShareContext", {"name": "api.url", "value": "x"}, "context.shared"),
        ("MessageDone", {"message_id": "…"}, "message.acted"),
        (
            "TaskUpdate",
            {"taskId": "T-1", "status": "completed", "evidence": {"1": "yes"}, "export_to_context": {"a": 1}},
            "context.shared",
        ),
    ],
)
def test_a_call_of_a_tool_is_done_once(crew: world.World, lose: Lose, name: str, given: dict[str, Any], event: str) -> None:
    held = crew.claim()
    mail = messages.send(crew.team.pk, sender_agent_id=None, to="builder-1", body="Hi", actor="user:ada")
    given = {key: mail.pk if value == "…" else value for key, value in given.items()}
    lose(registry, "call")
    text, is_error = on_port(held, lambda port: port.call_tool(name, given, "toolu_1"))
    assert not is_error, text
    assert (kinds(crew, event), CrewCall.objects.filter(told=True).count()) == (1, 1)
    assert all(entry.version == 1 for entry in ContextEntry.objects.all())
