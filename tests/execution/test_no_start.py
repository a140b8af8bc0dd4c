"""A life that cannot begin, for the disk of its machine is full: it is given back, and the words name the machine."""

import errno

import pytest

from tasks_app.domain.leases import CRASHES
from tasks_app.execution import dossier, environment
from tasks_app.models import Run, Team
from tasks_app.rehearsal import server
from tests.execution.lives import done, drive_on
from tests.services import world

pytestmark = pytest.mark.usefixtures("scripted", "database_threads")


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(("module", "name"), [(environment, "for_run"), (dossier, "begin")])
def test_a_disk_that_is_full_for_longer_uses_up_no_attempt_and_is_put_to_the_lead_with_the_host(crew, monkeypatch, module, name):
    real = getattr(module, name)
    monkeypatch.setattr(module, name, full)
    held = crew.claim()
    for life in range(1, CRASHES):
        drive_on(held)
        run = Run.objects.get()
        assert (run.status, run.reason, run.crashes) == ("pending", "start_failed", life)
        Run.objects.update(due_at=0)
        held = world.take(held.id)
    monkeypatch.setattr(module, name, real)
    drive_on(held, done())
    assert (crew.task().status, crew.task().attempts) == ("completed", 0)
    assert run.detail == "On host: The files of the agent could not be made: There is no space left on the disk."


def test_a_rehearsal_that_cannot_begin_leaves_no_script_behind(crew, monkeypatch):
    Team.objects.update(rehearsal=True)
    monkeypatch.setattr(environment, "for_run", full)
    drive_on(crew.claim())
    assert not server.shared()._runs
