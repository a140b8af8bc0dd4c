"""A run that waits out a rate limit: what is answered or ends meanwhile makes it due no sooner, and its words stay."""

from datetime import timedelta

import pytest

from tasks_app.domain.statuses import Reason
from tasks_app.models import Decision, Event, Run
from tasks_app.services import decisions, recovery, runs
from tasks_app.services.clock import now_s
from tests.services import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def crew():
    return world.make()


def limited(held, *, resets):
    runs.park(held.id, held.fence, reason=Reason.RATE_LIMITED, detail="It resets later.", retry_at=resets, interrupted=True)


def test_an_answer_makes_a_run_due_no_sooner_than_its_rate_limit_ends(crew):
    """A sub-agent asks, and the turn it belongs to is limited."""
    held, resets = crew.claim(), now_s() + 7200
    asked = decisions.open_for_run(held.id, held.fence, world.ask())
    limited(held, resets=resets)
    assert world.is_parked(held.id)
    world.answer(asked, "allow")
    run = Run.objects.get(pk=held.id)
    assert (run.due_at, run.reason, run.detail) == (pytest.approx(resets), "rate_limited", "It resets later.")
    assert recovery.due_runs() == []
    Run.objects.update(due_at=0, not_before=0)
    asked = decisions.open_for_run(
        held.id, world.take(held.id).fence, world.ask(tool_use_id="toolu_2", input={"command": "other"})
    )
    runs.park(held.id, 2, reason=Reason.PARKED, interrupted=False)
    world.answer(asked, "deny")
    assert Run.objects.get(pk=held.id).due_at <= now_s()


def test_a_stall_that_ends_by_itself_leaves_the_rate_limit_alone(crew):
    held, resets = crew.claim(), now_s() + 7200
    past = world.now() - timedelta(minutes=16)
    Run.objects.filter(pk=held.id).update(last_step_at=past, started_at=past, created_at=past)
    Event.objects.filter(kind="run.started").update(at=past)
    assert recovery.open_stalls() == 1
    limited(held, resets=resets)
    recovery.sweep()
    run = Run.objects.get(pk=held.id)
    assert (Decision.objects.get().status, run.reason) == ("withdrawn", "rate_limited")
    assert run.due_at == pytest.approx(resets)


def test_what_it_does_not_wait_for_makes_it_due_no_sooner(crew):
    held, resets = crew.claim(), now_s() + 3600
    limited(held, resets=resets)
    assert runs.make_due(held.id, why="another request was withdrawn") is False
    assert Run.objects.get(pk=held.id).due_at == pytest.approx(resets)
