"""N37: a worker killed in the middle of a command; the second worker that takes the run leaves no orphan of the first."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import StepKind
from tasks_app.models import Run
from tasks_app.runners.claude import processes
from tasks_app.runners.port import OutcomeKind, StepDraft
from tasks_app.services import actions, claims, recovery, runs, steps, transcripts
from tests.execution.lives import Scripted, done, drive_on, outcome, reports
from tests.services import world

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("scripted", "database_threads")]
SLEEP = "import time; time.sleep(600)"
SHELL = f"import subprocess, sys; [subprocess.Popen([sys.executable, '-c', '{SLEEP}']) for _ in 'ab']; {SLEEP}"
WORKER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SHELL!r}], start_new_session=True)"
"""All in Python: macOS shows nobody the marker of its own sh and sleep."""


COMMAND = {"command": "sleep 600 & sleep 600"}
CALL = StepDraft(StepKind.TOOL_CALL, "Bash", {"tool": "Bash", "input": COMMAND}, tool_use_id="toolu_1")
KEY = {"project_key": "p", "session_id": "s"}
OPEN_CALL = {"type": "assistant", "uuid": "u1", "message": {"content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash"}]}}


def left(run_id):
    return [one for one in processes.marked() if one.run_id == run_id]


def test_redelivery_after_kill_9_ends_the_first_workers_shells_before_it_starts_once(crew):
    held = crew.claim()
    steps.record(held.id, held.fence, after=0, drafts=[CALL])
    runs.note_session(held.id, held.fence, "s")
    prompt = {"type": "user", "uuid": "u0", "message": {"content": f"[crewdesk:life {held.id}:1]\n[crewdesk:task T-1 attempt 1]"}}
    transcripts.append(KEY, [prompt, OPEN_CALL], run_id=held.id, fence=held.fence)
    env = {**os.environ, processes.MARKER: f"{held.id}:{held.fence}"}
    worker = subprocess.Popen([sys.executable, "-c", WORKER], env=env)
    shells = []
    try:
        while len(shells) < 3:  # the shell, as it were, and both of its sleeps
            shells = psutil.Process(worker.pid).children(recursive=True)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        assert len(left(held.id)) == 3, "the group outlives its worker"
        Run.objects.filter(pk=held.id).update(worker=f"{world.HOST}:{worker.pid}:1")
        assert recovery.take_back_from_dead(world.HOST, alive="w2") == 1
        lost = Run.objects.get()
        assert (lost.status, lost.reason, lost.interrupted) == ("pending", "worker_lost", True), "not running for ever"
        seen = []

        async def play(spec, port):
            seen.append(left(held.id))
            return await reports("completed", evidence={"1": "yes"})(spec, port)

        later = world.take(held.id, worker="w2")
        assert claims.claim(held.id, worker="w3", host=world.HOST) is None, "redelivered again: nobody starts a second one"
        drive_on(later, play)
        with pytest.raises(LeaseLost):  # the half line that the dead one still had to write
            transcripts.append(KEY, [{"type": "user", "uuid": "u2"}], run_id=held.id, fence=held.fence)
        told = Scripted.specs[0].prompt
        assert ("interrupted" in told, "sleep 600 & sleep 600" in told) == (True, True), "the open call is told, not repeated"
        assert "# Your task" not in told, "nor is the prompt"
        assert seen == [[]], "they were gone before the agent went on, which it did once"
        assert len(Scripted.specs) == 1
        assert Run.objects.get().status == "completed"
    finally:
        for shell in shells:
            if shell.is_running():
                shell.kill()


async def survives(*_, **__):
    return False


def test_nothing_begins_beside_what_cannot_be_killed_and_the_run_says_why_it_waits(crew, monkeypatch):
    kill = processes.kill_run
    monkeypatch.setattr(processes, "kill_run", survives)
    held = world.next_life(crew.claim())
    drive_on(held)
    run = Run.objects.get()
    assert (run.status, run.reason, run.crashes, run.interrupted) == ("pending", "start_failed", 0, True)
    assert run.due_at > time.time() + 20
    assert run.detail.startswith(f"On {world.HOST}: Processes of this attempt do not end")
    monkeypatch.setattr(processes, "kill_run", kill)
    Run.objects.update(due_at=0)
    drive_on(world.take(held.id), done())
    assert crew.task().status == "completed"


def test_a_stop_meanwhile_is_carried_out_when_they_are_gone(crew, monkeypatch):
    kill = processes.kill_run
    monkeypatch.setattr(processes, "kill_run", survives)
    held = world.next_life(crew.claim())
    actions.stop_run(held.id, actor="user:ada")
    drive_on(held)
    assert Run.objects.get().status == "pending", "stopped is what is seen gone"
    monkeypatch.setattr(processes, "kill_run", kill)
    Run.objects.update(due_at=0)
    drive_on(world.take(held.id), outcome(OutcomeKind.STOPPED))
    assert (Run.objects.get().status, Run.objects.get().detail) == ("killed", "Stopped by ada.")
