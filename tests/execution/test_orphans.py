"""What agents of lost workers have left running on this host: it is gone before others go on beside it, and nobody else's is."""

import contextlib
import os
import subprocess
import sys

import pytest

from tasks_app.execution import orphans
from tasks_app.models import Run
from tasks_app.runners.claude import processes
from tasks_app.selectors import runs
from tasks_app.services import actions, deliveries, hosts, recovery, workers
from tests.execution.workers import living
from tests.services import world
from tests.services_fixtures import until

pytestmark = pytest.mark.usefixtures("scripted", "database_threads")
HERE = hosts.this_host()
DEAD = f"{HERE}:999999:1"
ME = workers.name_of_this_process(HERE)
KILLED = -9


@pytest.fixture
def shells(home):
    """Start shells, as agents do, in the private folder of a life; none of them outlives the test."""
    with contextlib.ExitStack() as stack:

        def start(run_id, fence, *, where=home):
            env = {**os.environ, processes.MARKER: f"{run_id}:{fence}", "HOME": f"{where}/runs/{run_id}-{fence}"}
            command = [sys.executable, "-c", "import time; time.sleep(600)"]
            shell = stack.enter_context(subprocess.Popen(command, env=env, start_new_session=True))
            stack.callback(shell.kill)
            until(lambda: any(one.pid == shell.pid for one in processes.marked()))
            return shell

        yield start


@pytest.fixture
def held(crew):
    """A run that a worker of this host held which is dead."""
    return here(crew.claim(worker=DEAD))


def here(held):
    Run.objects.filter(pk=held.id).update(host=HERE)
    return held


def take_back():
    return recovery.take_back_from_dead(HERE, alive="me", end=orphans.end)


def test_a_run_that_is_said_to_be_stopped_has_no_process_any_more(quick, held, shells, monkeypatch):
    shell, seen, end = shells(held.id, held.fence), [], deliveries.end

    def ends(*given, **more):
        seen.append(shell.poll())
        end(*given, **more)

    actions.stop_run(held.id, actor="user:ada")
    monkeypatch.setattr(deliveries, "end", ends)
    with living():
        assert (Run.objects.get().status, seen) == ("killed", [KILLED])


def test_a_run_goes_on_when_what_its_dead_worker_left_is_gone_whatever_home_that_says(held, shells):
    shell = shells(held.id, held.fence, where="/elsewhere")
    assert (take_back(), shell.wait(5), Run.objects.get().status) == (1, KILLED, "pending")


def test_what_survives_is_not_said_to_be_stopped_and_the_next_sweep_tries_again(held, shells, monkeypatch):
    shell, signal = shells(held.id, held.fence), processes._signal
    actions.stop_run(held.id, actor="user:ada")
    monkeypatch.setattr(orphans, "GONE_S", 0.1)
    monkeypatch.setattr(processes, "_signal", lambda *_: None)
    assert (take_back(), Run.objects.get().status, shell.poll()) == (0, "running", None)
    monkeypatch.setattr(processes, "_signal", signal)
    assert (take_back(), Run.objects.get().status, shell.wait(5)) == (1, "killed", KILLED)


def test_what_survives_keeps_no_run_from_the_queue_that_goes_on(held, shells, monkeypatch):
    shells(held.id, held.fence)
    monkeypatch.setattr(orphans, "GONE_S", 0.1)
    monkeypatch.setattr(processes, "_signal", lambda *_: None)
    assert (take_back(), Run.objects.get().status) == (1, "pending"), "its next life looks before it begins"


def test_of_a_life_that_is_over_all_ends_and_of_one_under_way_nothing(held, shells):
    later = here(world.next_life(held, worker=ME))
    old, new = shells(held.id, held.fence), shells(later.id, later.fence)
    assert (orphans.end(), old.wait(5), new.poll()) == (set(), KILLED, None)


def test_a_life_that_begins_after_the_lives_were_read_is_left_alone(held, shells, monkeypatch):
    """Its process is found by the next look at the processes, its commit was not: nobody may take it for one that is over."""
    old, new, under_way = shells(held.id, held.fence), [], runs.lives_under_way

    def read():
        found = under_way()
        later = world.next_life(held, worker=ME)
        new.append(shells(later.id, later.fence))
        return found

    monkeypatch.setattr(runs, "lives_under_way", read)
    lost = [recovery.Lost(held.id, held.fence, DEAD)]
    assert (orphans.end(lost), old.wait(5), new[0].poll()) == (set(), KILLED, None)


def test_what_belongs_to_another_home_or_another_database_is_left_alone(held, shells, tmp_path):
    """A home may be a copy of another one of this host, in which the same lives are under way."""
    Run.objects.update(status="pending")
    left = [shells(held.id, held.fence, where=tmp_path / "copied"), shells("r00000000", 1)]
    assert orphans.end() == set()
    assert [shell.poll() for shell in left] == [None, None]


def test_a_worker_that_starts_ends_what_is_left_of_runs_that_others_have_taken_back(quick, held, shells):
    Run.objects.update(host="another", status="pending", due_at=4e9)
    shell = shells(held.id, held.fence)
    with living():
        assert shell.wait(5) == KILLED


def test_a_frozen_worker_loses_its_run_for_good_before_its_processes_are_ended(crew, shells):
    held = here(crew.claim(worker=ME))
    shell = shells(held.id, held.fence)
    assert take_back() == 0
    world.expire_lease(held.id)
    renewed = []

    def end(lost):
        renewed.append(workers.heartbeat(ME, held={held.id: held.fence}))
        return orphans.end(lost)

    assert recovery.take_back_from_dead(HERE, alive="me", end=end) == 1
    assert (renewed, shell.wait(5)) == ([{held.id: "lost"}], KILLED)


def test_nobody_looks_at_processes_while_there_is_nothing_to_take_back(worker, monkeypatch):
    monkeypatch.setattr(processes, "marked", lambda: pytest.fail("it costs"))
    worker._sweep_once()
