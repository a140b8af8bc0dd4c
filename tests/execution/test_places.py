"""The places of a worker: who gets one, what follows in it, and that none is left behind when the worker leaves."""

import asyncio
import threading

import pytest

from tasks_app.execution import supervisor
from tasks_app.models import Run, Step, Task, Team, Worker
from tasks_app.runners.port import Directive
from tasks_app.services import actions, claims, runs, tasks
from tests import factories
from tests.execution.lives import reports
from tests.execution.workers import CAME_BACK, nudged, plays, waits
from tests.services import world
from tests.services_fixtures import until

pytestmark = pytest.mark.usefixtures("scripted", "database_threads")


def more_tasks(crew, count):
    """So many tasks more."""
    return [tasks.create(crew.team.pk, tasks.Draft(f"More {n}", criteria=("Done.",)), actor="system") for n in range(count)]


def more_agents(crew, count):
    """So many agents more."""
    Team.objects.update(limits={"parallel": 9})
    return [factories.AgentFactory(team=crew.team, name=f"more-{n}", role="builder", position=9 + n) for n in range(count)]


@pytest.mark.parametrize("moment", ["claimed", "begun"])
def test_a_run_that_is_being_claimed_or_begun_when_the_worker_leaves_is_not_left_behind(worker, crew, monkeypatch, moment):
    reached, go_on = threading.Event(), threading.Event()
    module, name = {"claimed": (claims, "claim_all"), "begun": (runs, "get")}[moment]
    real = getattr(module, name)

    def slow(*given, **more):
        found = real(*given, **more)
        if threading.current_thread().name.startswith("crewdesk-db_"):
            reached.set()
            assert go_on.wait(20)
        return found

    plays(waits)
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    monkeypatch.setattr(module, name, slow)
    asyncio.run_coroutine_threadsafe(worker._run(run.pk), worker._loop)  # as a sweep does: no thread of Celery's waits for it
    assert reached.wait(20)
    monkeypatch.setattr(supervisor, "_left", worker.leave())
    assert not supervisor._left.done()
    go_on.set()
    supervisor.await_left()
    run.refresh_from_db()
    assert (run.status, run.reason, run.fence) == ("pending", "interrupted", 1)
    assert not Worker.objects.exists()


def test_it_runs_no_more_than_it_has_places_for(worker, crew):
    worker.slots = 0
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    worker.run(run.pk)
    assert (Run.objects.get().status, Run.objects.get().fence) == ("pending", 0)


def test_a_nudge_that_finds_every_place_taken_goes_back_to_the_queue(worker, crew, hints):
    worker.slots = 0
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    hints.nudges.clear()
    worker.run(run.pk)
    assert hints.nudges == [run.pk]
    assert (Run.objects.get().status, Run.objects.get().fence) == ("pending", 0)
    claims.claim(run.pk, worker="other", host="there")
    worker.run(run.pk)
    assert hints.nudges == [run.pk], "somebody has it already: there is nothing to say"


def test_where_the_broker_is_away_it_waits_for_the_next_place_and_celery_hears_when_there_is_one(worker, crew, hints):
    hints.nudging = False
    told = threading.Event()
    plays(waits, reports("completed", evidence={"1": "yes"}))
    first, thread = nudged(worker, crew)
    until(lambda: Step.objects.exists())
    worker.slots, worker.on_room = 1, told.set
    assert (worker.room(), told.is_set()) == (0, False)
    task = tasks.create(crew.team.pk, tasks.Draft("Second", criteria=("It works.",), role="builder"), actor="system")
    second = runs.claim_task(task.pk, agent_id=crew.agents[1].pk, actor="system")
    waiting = threading.Thread(target=worker.run, args=(second.pk,))
    waiting.start()
    actions.stop_run(first, actor="user:ada")
    thread.join(20)
    waiting.join(20)
    assert told.is_set()
    assert Run.objects.get(pk=second.pk).status == "completed"


def test_what_the_end_of_a_run_lets_begin_goes_on_in_its_place_and_nobody_is_nudged_for_it(worker, crew, hints):
    drafts = [tasks.Draft(title, criteria=("It works.",), role="builder") for title in ("Second", "Third")]
    plays(*[reports("completed", evidence={"1": "yes"})] * 3)
    Team.objects.update(limits={"parallel": 1})
    for draft in drafts:
        tasks.create(crew.team.pk, draft, actor="system")
    first, thread = nudged(worker, crew)
    thread.join(30)
    assert set(Task.objects.values_list("status", flat=True)) == {"completed"}
    assert hints.nudges == [first]
    until(lambda: worker.room() == 2)


def after(worker, crew, hints):
    """Play one task of two; return what became of the run of the second, and whom others were nudged for."""
    plays(reports("completed", evidence={"1": "yes"}))
    tasks.create(crew.team.pk, tasks.Draft("Second", criteria=("It works.",), role="builder"), actor="system")
    Team.objects.update(limits={"parallel": 1})
    first, thread = nudged(worker, crew)
    thread.join(20)
    second = Run.objects.filter(team=crew.team).exclude(pk=first).get()
    return (second.status, second.fence), [run_id for run_id in hints.nudges if run_id == second.pk]


def test_where_another_teams_run_has_waited_longer_it_is_nudged_for_like_any_other(worker, crew, hints):
    other = world.make()
    theirs = runs.claim_task(other.tasks[0].pk, agent_id=other.agents[0].pk, actor="system")
    Run.objects.filter(pk=theirs.pk).update(due_at=1)
    state, nudges = after(worker, crew, hints)
    assert (state, len(nudges)) == (("pending", 0), 1)


def test_a_nudge_for_what_follows_in_a_place_takes_and_leaves_one_of_its_own(worker, crew, monkeypatch):
    """The turn of a lead agent is nudged for though a place is kept for it: the nudge may come before the place is named anew."""
    claim, wanted, driven = claims.claim_all, threading.Event(), threading.Event()
    reached = []

    def nudging(run_id, **given):
        found = follow(run_id, **given)
        threading.Thread(target=worker.run, args=(run_id,)).start()
        reached.append(wanted.wait(20))
        return found

    def late(ids, **given):
        if len(worker._places) > 1:
            wanted.set()
            assert driven.wait(20)
        return claim(ids, **given)

    follow = claims.follow
    monkeypatch.setattr(claims, "follow", nudging)
    plays(reports("completed", evidence={"1": "yes"}), waits)
    tasks.create(crew.team.pk, tasks.Draft("Second", criteria=("It works.",), role="builder"), actor="system")
    Team.objects.update(limits={"parallel": 1})
    worker.slots = 3
    first, thread = nudged(worker, crew)
    monkeypatch.setattr(claims, "claim_all", late)
    until(lambda: Step.objects.exclude(run_id=first).exists())
    driven.set()
    until(lambda: len(worker._places) == 1)
    assert reached == [True]
    assert list(worker._places.values()) == list(worker._ports)
    worker.leave().result(20)
    thread.join(20)
    assert Run.objects.exclude(pk=first).get().reason == "interrupted"


def test_where_the_machine_has_no_room_any_more_others_are_nudged_for_what_follows(worker, crew, hints, monkeypatch):
    monkeypatch.setattr(worker, "_fitting", lambda: 0 if worker._ports else 9)
    state, nudges = after(worker, crew, hints)
    assert (state, len(nudges)) == (("pending", 0), 1)


def test_one_nudge_takes_along_what_else_is_due_as_far_as_there_are_places(worker, crew):
    plays(waits, waits)
    worker.slots = 2
    ids = [
        runs.claim_task(task.pk, agent_id=agent.pk, actor="system").pk
        for task, agent in zip(more_tasks(crew, 3), more_agents(crew, 3), strict=True)
    ]
    thread = threading.Thread(target=worker.run, args=(ids[0],))
    thread.start()
    until(lambda: Step.objects.count() == 2)
    assert (worker.room(), set(worker._places.values())) == (0, set(ids[:2]))
    assert Run.objects.get(pk=ids[2]).status == "pending"
    worker.leave().result(20)
    thread.join(20)
    assert set(Run.objects.values_list("status", flat=True)) == {"pending"}


def test_a_run_is_not_taken_along_while_an_earlier_life_of_it_is_still_being_ended_here(worker, crew, monkeypatch):
    """Two lives of one run side by side: the end of the first would take the heartbeat of the second with it."""
    ended, lives = threading.Event(), []

    async def lingers(spec, port):
        await waits(spec, port)
        await asyncio.to_thread(ended.wait, 20)  # its process is being ended
        return CAME_BACK[port.directive()]

    async def works(spec, port):
        lives.append((spec.run_id, spec.fence))
        return await (lingers if lives == [(first, 1)] else waits)(spec, port)

    plays(works, works, works)
    worker.slots = 3
    (task,), (agent,) = more_tasks(crew, 1), more_agents(crew, 1)
    first, thread = nudged(worker, crew)
    until(lambda: Step.objects.exists())
    monkeypatch.setattr(supervisor, "FENCE_OFF_S", 0.0)  # the database was away for too long
    until(lambda: worker._ports[first].directive() is Directive.LOST)
    monkeypatch.setattr(supervisor, "FENCE_OFF_S", 60.0)
    Run.objects.filter(pk=first).update(status="pending", due_at=0)  # and another worker's sweep has given the run back
    second = runs.claim_task(task.pk, agent_id=agent.pk, actor="system")
    threading.Thread(target=worker.run, args=(second.pk,)).start()
    until(lambda: len(lives) == 2)
    assert (lives[1], Run.objects.get(pk=first).status) == ((second.pk, 1), "pending")
    ended.set()
    thread.join(20)
    threading.Thread(target=worker.run, args=(first,)).start()
    until(lambda: len(lives) == 3)
    Run.objects.filter(pk=first).update(lease_until=1.0)
    until(lambda: Run.objects.get(pk=first).lease_until > 1.0)
    assert lives[2] == (first, 2)
    worker.leave().result(20)
