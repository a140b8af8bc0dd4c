"""N37: a worker killed in the middle of a command; the second worker that takes the run leaves no orphan of the first."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from tasks_app.models import Run
from tasks_app.runners.claude import processes
from tests.execution.lives import Scripted, drive_on, reports
from tests.services import world

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("scripted", "database_threads")]
WORKER = "import subprocess; subprocess.run(['sh', '-c', 'sleep 600 & sleep 600; true'], start_new_session=True)"


def left(run_id):
    return [one for one in processes.marked() if one.run_id == run_id]


def test_redelivery_after_kill_9_ends_the_first_workers_shells_before_it_starts_once(crew):
    held = crew.claim()
    env = {**os.environ, processes.MARKER: f"{held.id}:{held.fence}"}
    worker = subprocess.Popen([sys.executable, "-c", WORKER], env=env)
    shells = []
    try:
        while len(shells) < 3:  # the shell and both of its sleeps
            shells = psutil.Process(worker.pid).children(recursive=True)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        assert len(left(held.id)) == 3, "the group outlives its worker"
        seen = []

        async def play(spec, port):
            seen.append(left(held.id))
            return await reports("completed", evidence={"1": "yes"})(spec, port)

        drive_on(world.next_life(held), play)
        assert seen == [[]], "they were gone before the agent went on, which it did once"
        assert len(Scripted.specs) == 1
        assert Run.objects.get().status == "completed"
    finally:
        for shell in shells:
            if shell.is_running():
                shell.kill()
