"""What an agent did cannot be stored though the database is there: the attempt goes on from its last step, but not for ever."""

import pytest
from django.db import DataError, OperationalError

from tasks_app.domain.leases import DEATHS
from tasks_app.execution import db
from tasks_app.models import Run, Step
from tasks_app.runners.port import Outcome, OutcomeKind
from tasks_app.services import recovery, steps
from tests.execution.lives import drive_on, say
from tests.services import world

pytestmark = pytest.mark.usefixtures("scripted", "database_threads")


async def speaks(spec, port):
    """A life that says two things, of which the second cannot be stored."""
    await port.emit([say("I think.")])
    await port.flush()
    await port.emit([say("poison")])
    await port.directive_changed()
    return Outcome(OutcomeKind.LOST)


def refuse(monkeypatch, error):
    record = steps.record_all

    def record_all(batches):
        if any(draft.text == "poison" for batch in batches for draft in batch.drafts):
            raise error
        return record(batches)

    monkeypatch.setattr(steps, "record_all", record_all)


def again(held):
    """The next life, after the lease of this one."""
    world.expire_lease(held.id)
    assert recovery.take_back_expired() == 1
    return world.take(held.id)


def test_a_step_that_is_never_taken_ends_the_attempt_in_words_after_some_lives(crew, monkeypatch):
    refuse(monkeypatch, DataError("cannot be stored"))
    held = crew.claim()
    for life in range(1, DEATHS):
        drive_on(held, speaks)
        run = Run.objects.get()
        assert (run.status, run.deaths, Step.objects.count()) == ("running", life, life)
        held = again(held)
    drive_on(held, speaks)
    run = Run.objects.get(attempt=1)
    assert (run.status, run.reason) == ("failed", "error")
    assert "fault of its own" in run.detail


def test_a_database_that_was_away_is_no_fault_of_the_attempt(crew, monkeypatch):
    monkeypatch.setattr("tasks_app.execution.db.PATIENCE_S", 0.0)
    refuse(monkeypatch, OperationalError("away"))
    held = crew.claim()
    drive_on(held, speaks)
    assert (Run.objects.get().status, Run.objects.get().deaths) == ("running", 0)
    assert again(held).fence == 2


def test_who_has_lost_the_run_meanwhile_counts_nothing(crew, monkeypatch):
    refuse(monkeypatch, DataError("cannot be stored"))
    held = crew.claim()

    async def loses(spec, port):
        came = await speaks(spec, port)
        await db.call(Run.objects.filter(pk=held.id).update, fence=7)
        return came

    drive_on(held, loses)
    assert (Run.objects.get().status, Run.objects.get().deaths) == ("running", 0)
