"""The time limit of an attempt counts what it has worked in all its lives, and not the time it waited for the lead."""

import pytest
from django.db.models import F

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import DecisionKind, Reason, RunStatus
from tasks_app.models import Run
from tasks_app.services import decisions, endings, recovery, runs, workers, worktime
from tests.services import world

pytestmark = pytest.mark.django_db


SLOW_S = 2
"""A slow machine takes some time itself."""


@pytest.fixture
def held():
    return world.make().claim()


def passes(seconds):
    """So much time goes by since the last heartbeat."""
    Run.objects.filter(status="running").update(lease_until=F("lease_until") - seconds)


def beat(held, worker="w1"):
    workers.heartbeat(worker, held={held.id: held.fence})


def worked():
    return pytest.approx(Run.objects.get().worked_s, abs=SLOW_S)


def park(held):
    runs.park(held.id, held.fence, reason=Reason.INTERRUPTED, interrupted=True)


def test_each_heartbeat_adds_the_time_since_the_last(held):
    for _ in range(3):
        passes(5)
        beat(held)
    assert worked() == 15
    assert worktime.left_s(held.id, held.fence, limit_s=60) == pytest.approx(45, abs=SLOW_S)
    passes(4)
    assert worktime.left_s(held.id, held.fence, limit_s=60) == pytest.approx(41, abs=SLOW_S)


def test_what_an_attempt_has_worked_so_far_is_told_with_the_time_since_the_last_heartbeat_where_a_worker_has_it(held):
    Run.objects.update(worked_s=60)
    passes(4)
    assert worktime.so_far_s(Run.objects.get()) == pytest.approx(64, abs=SLOW_S)
    park(held)
    passes(1000)
    assert worktime.so_far_s(Run.objects.get()) == pytest.approx(64, abs=SLOW_S)


def test_the_time_of_every_life_counts_and_the_time_between_them_does_not(held):
    passes(5)
    beat(held)
    passes(3)
    park(held)
    assert worked() == 8
    Run.objects.update(due_at=0)
    later = world.take(held.id, worker="w2")
    assert worktime.left_s(later.id, later.fence, limit_s=10) == pytest.approx(2, abs=SLOW_S)
    passes(4)
    assert worktime.left_s(later.id, later.fence, limit_s=10) < 0


def test_a_life_that_was_lost_counts_until_its_last_heartbeat(held):
    passes(5)
    beat(held)
    passes(LEASE_S + 100)
    assert recovery.take_back_expired() == 1
    assert worked() == 5


def test_waiting_for_the_lead_does_not_count(held):
    decision = decisions.open_for_run(held.id, held.fence, world.ask())
    for _ in range(3):
        passes(5)
        beat(held)
    assert worked() == 0
    assert worktime.left_s(held.id, held.fence, limit_s=10) == pytest.approx(10, abs=SLOW_S)
    world.answer(decision, "allow")
    passes(5)
    beat(held)
    assert worked() == 5


def test_a_stall_is_no_waiting(held):
    run = runs.get(held.id)
    decisions.open_by_system(kind=DecisionKind.STALL, task=run.task, run=run, payload={"quiet_s": 900, "last": ""})
    passes(5)
    beat(held)
    assert worked() == 5


@pytest.mark.parametrize("jump", [3600, -3600])
def test_a_clock_that_is_set_adds_at_most_a_lease_and_takes_nothing_away(held, jump):
    passes(5)
    beat(held)
    passes(jump)
    beat(held)
    assert 5 <= Run.objects.get().worked_s <= 5 + LEASE_S + SLOW_S


def test_an_attempt_that_has_ended_shows_what_it_worked(held):
    passes(7)
    endings.finish(held.id, held.fence, endings.Ending(RunStatus.FAILED, Reason.TIME_LIMIT))
    assert worked() == 7


def test_a_run_that_is_stopped_without_a_process_has_worked_no_longer_for_it(held):
    park(held)
    endings.end_pending(held.id, endings.stopped_by("user:ada", reason=Reason.STOPPED, held=True), actor="user:ada")
    assert worked() == 0


def test_a_new_attempt_begins_its_time_anew():
    crew = world.make()
    held = crew.claim()
    passes(7)
    endings.finish(held.id, held.fence, endings.Ending(RunStatus.FAILED, Reason.TIME_LIMIT))
    assert Run.objects.get(pk=crew.claim(0, 1).id).worked_s == 0


def test_whoever_lost_the_run_is_told_so(held):
    world.next_life(held)
    with pytest.raises(LeaseLost):
        worktime.left_s(held.id, held.fence, limit_s=60)
