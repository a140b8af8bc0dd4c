"""A worker's own life: it drives what it is nudged for, hears of stops, gives up what it cannot hold, and leaves in order."""

import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from tasks_app.execution import files_due, supervisor
from tasks_app.models import Decision, Run, Step, Team, Worker
from tasks_app.services import actions, decisions, recovery, restores, runs, snapshots, workers
from tests.execution.lives import Scripted, reports
from tests.execution.workers import living, nudged, plays, waits
from tests.hooks import listening
from tests.services import world
from tests.services_fixtures import until

pytestmark = pytest.mark.usefixtures("scripted", "database_threads")


def test_a_nudge_is_driven_to_the_end_and_a_second_one_changes_nothing(worker, crew):
    plays(reports("completed", evidence={"1": "yes"}))
    run_id, thread = nudged(worker, crew)
    thread.join(20)
    assert (Run.objects.get().status, Run.objects.get().worker) == ("completed", worker.name)
    worker.run(run_id)
    assert len(Scripted.specs) == 1


def test_files_that_git_takes_long_to_put_back_hold_up_no_lost_run(quick, crew, monkeypatch):
    monkeypatch.setattr(supervisor, "SWEEP_S", 0.05)
    monkeypatch.setattr(files_due, "LOOK_S", 0.05)
    began, over = threading.Event(), threading.Event()

    def slow(*_, **__):
        began.set()
        return over.wait(30)

    monkeypatch.setattr(snapshots, "put_back", slow)
    Team.objects.filter(pk=world.make().team.pk).update(workspace_due="a" * 40)
    held = crew.claim()
    with living():
        try:
            assert began.wait(10)
            world.expire_lease(held.id)
            until(lambda: Run.objects.get(pk=held.id).status == "pending", patience_s=10)
        finally:
            over.set()


def test_files_that_are_owed_are_put_back(quick, crew, monkeypatch):
    ended, finish = threading.Event(), restores.finish_due
    monkeypatch.setattr(restores, "finish_due", lambda: (finish(), ended.set()))
    monkeypatch.setattr(files_due, "LOOK_S", 0.05)
    file = Path(crew.team.workspace) / "a.py"
    file.write_text("1")
    Team.objects.update(workspace_due=snapshots.take(crew.team.slug, crew.team.workspace))
    file.write_text("2")
    with living():
        assert ended.wait(20), "and its thread is done with the database"
    assert not Team.objects.get().workspace_due
    assert file.read_text() == "1"


def test_its_heart_keeps_the_lease_and_brings_the_stop(worker, crew):
    plays(waits)
    run_id, thread = nudged(worker, crew)
    until(lambda: Step.objects.exists())
    Run.objects.update(lease_until=1.0)
    until(lambda: Run.objects.get().lease_until > 1.0)
    actions.stop_run(run_id, actor="user:ada")
    thread.join(20)
    assert (Run.objects.get().status, Run.objects.get().detail) == ("killed", "Stopped by ada.")


def test_many_hints_at_once_are_answered_by_few_beats(worker, crew, monkeypatch):
    monkeypatch.setattr(supervisor, "HEARTBEAT_S", 60.0)
    plays(waits)
    run_id, thread = nudged(worker, crew)
    until(lambda: Step.objects.exists())
    beats, heartbeat = [], workers.heartbeat

    def counted(*given, **more):
        beats.append(given)
        return heartbeat(*given, **more)

    monkeypatch.setattr(workers, "heartbeat", counted)
    worker._loop.call_soon_threadsafe(lambda: [worker._hear(run_id) for _ in range(100)])
    until(lambda: beats)
    actions.stop_run(run_id, actor="user:ada")
    worker._loop.call_soon_threadsafe(worker._hear, run_id)
    thread.join(20)
    assert Run.objects.get().status == "killed"
    assert len(beats) <= 5


def test_a_run_that_was_taken_over_is_given_up(worker, crew):
    plays(waits)
    run_id, thread = nudged(worker, crew)
    until(lambda: Step.objects.exists())
    Run.objects.update(fence=7, worker="other:1:1")
    thread.join(20)
    assert (Run.objects.get(pk=run_id).status, Run.objects.get().fence) == ("running", 7)


def test_without_a_heartbeat_for_long_it_gives_everything_up_before_anybody_else_may_have_it(worker, crew, monkeypatch):
    plays(waits)
    _, thread = nudged(worker, crew)
    until(lambda: Step.objects.exists())
    monkeypatch.setattr(supervisor, "FENCE_OFF_S", 0.2)

    def away(*_, **__):
        raise supervisor.db.OperationalError("away")

    monkeypatch.setattr(workers, "heartbeat", away)
    thread.join(20)
    assert not thread.is_alive()
    assert Run.objects.get().status == "running", "nothing was written; the lease runs out"


def test_it_gives_everything_up_in_time_also_while_a_heartbeat_still_waits_for_the_database(worker, crew, monkeypatch):
    plays(waits)
    _, thread = nudged(worker, crew)
    until(lambda: Step.objects.exists())
    over = threading.Event()
    monkeypatch.setattr(workers, "heartbeat", lambda *_, **__: over.wait(30) and {})
    monkeypatch.setattr(supervisor, "FENCE_OFF_S", 0.2)
    thread.join(20)
    given_up = not thread.is_alive()
    over.set()
    assert given_up


def test_on_leaving_it_parks_what_it_runs_takes_nothing_new_and_is_forgotten(worker, crew):
    assert Worker.objects.get().name == worker.name
    plays(waits)
    run_id, thread = nudged(worker, crew)
    until(lambda: Step.objects.exists())
    worker.leave().result(20)
    thread.join(20)
    run = Run.objects.get(pk=run_id)
    assert (run.status, run.reason, run.interrupted) == ("pending", "interrupted", True)
    assert not Worker.objects.exists()
    worker.run(run_id)
    assert Run.objects.get().fence == 1


def test_a_sweep_finds_what_no_nudge_reached(quick, crew, hints, monkeypatch):
    monkeypatch.setattr(supervisor, "SWEEP_S", 0.05)
    hints.nudging = False
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    Run.objects.update(nudged_at=0)
    plays(reports("completed", evidence={"1": "yes"}))
    with living():
        until(lambda: Run.objects.get(pk=run.pk).status == "completed")


def test_a_sibling_that_dies_is_seen_by_its_process_and_its_run_goes_on_here_at_once(worker, crew, monkeypatch):
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as sibling:
        name = f"{worker.host}:{sibling.pid}:{workers._start(sibling.pid)}"
        Worker.objects.create(name=name, host=worker.host, pid=sibling.pid, started_at=world.now(), seen_at=0, slots=1)
        held = crew.claim(worker=name)
        Run.objects.filter(pk=held.id).update(host=worker.host)
        worker._sweep_once()
        monkeypatch.setattr(recovery, "sweep", lambda: pytest.fail("nobody may wait for a sweep"))
        sibling.kill()
        until(lambda: Run.objects.get().status == "pending")
    assert Run.objects.get().reason == "worker_lost"


def test_a_worker_that_starts_takes_back_what_the_dead_of_its_host_held(crew, worker):
    held = crew.claim(worker=f"{worker.host}:1:1")
    Run.objects.filter(pk=held.id).update(host=worker.host)
    again = supervisor.Supervisor(slots=2)
    again._thread = threading.Thread(target=lambda: None)
    again.start()
    assert (Run.objects.get().status, Run.objects.get().reason) == ("pending", "worker_lost")


def test_it_tells_on_call_beside_its_sweeps(quick, crew, settings, monkeypatch):
    monkeypatch.setattr(supervisor, "SWEEP_S", 0.05)
    held = crew.claim(worker="other:1:1")
    decisions.open_for_run(held.id, held.fence, world.ask())
    Decision.objects.update(opened_at=world.now() - timedelta(minutes=11))
    with listening() as hook:
        settings.DEBUG, settings.ONCALL_URL = True, hook.url
        with living(), living():
            until(lambda: Decision.objects.get().notified_at)
    assert len(hook.posts) == 1


def test_a_worker_that_others_have_forgotten_while_its_machine_was_asleep_registers_again(worker):
    Worker.objects.all().delete()
    worker._sweep_once()
    assert (Worker.objects.get().name, Worker.objects.get().slots) == (worker.name, worker.slots)


def test_what_goes_on_beside_is_held_so_that_it_is_not_destroyed_while_it_waits(quick):
    with living() as found:
        until(lambda: len(found._standing) >= 5)
        assert {work for work in found._standing if not work.done()} <= found._works
        found.leave().result(10)
        until(lambda: all(work.done() for work in found._standing))
