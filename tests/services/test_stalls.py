"""Stalls: a run that is quiet for long is seen, asked about once, and the question ends when the run goes on."""

from datetime import timedelta

import pytest
import time_machine
from django.db import models

from tasks_app.domain.statuses import Reason
from tasks_app.models import Agent, Decision, Run, Team
from tasks_app.runners.port import Directive
from tasks_app.services import decisions, recovery, runs, scheduling, steps, workers
from tests.services import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def crew():
    return world.make(titles=("A", "B"))


def quiet(held, minutes):
    """Let the run have been quiet for so long."""
    past = world.now() - timedelta(minutes=minutes)
    Run.objects.filter(pk=held.id).update(last_step_at=past, started_at=past, created_at=past)
    held_events = models.Q(kind="run.started")
    Team.objects.get(pk=held.team_id).events.filter(held_events).update(at=past)


def test_a_run_that_is_quiet_for_long_asks_the_lead_once(crew):
    held = crew.claim()
    quiet(held, 14)
    assert recovery.open_stalls() == 0
    quiet(held, 16)
    Agent.objects.update(now_text="Bash: pytest")
    assert (recovery.open_stalls(), recovery.open_stalls()) == (1, 0)
    stall = Decision.objects.get()
    assert stall.kind == "stall"
    assert stall.payload["last"] == "Bash: pytest"
    assert 16 * 60 <= stall.payload["quiet_s"] < 17 * 60


def test_how_long_is_too_long_is_the_teams_choice():
    crew = world.make(limits={"stall_minutes": 2})
    quiet(crew.claim(), 3)
    assert recovery.open_stalls() == 1


def test_waiting_for_the_lead_is_not_being_quiet(crew):
    held = crew.claim()
    decisions.open_for_run(held.id, held.fence, world.ask())
    quiet(held, 60)
    assert recovery.open_stalls() == 0


def test_a_run_that_goes_on_after_a_night_is_not_stalled_before_its_first_step(crew):
    held = crew.claim()
    quiet(held, 600)
    world.next_life(held)
    assert recovery.open_stalls() == 0


def test_a_lead_who_says_wait_is_not_asked_again_at_once(crew):
    held = crew.claim()
    quiet(held, 16)
    recovery.open_stalls()
    world.answer(Decision.objects.get(), "wait", note="It compiles.")
    assert recovery.open_stalls() == 0
    Decision.objects.update(answered_at=world.now() - timedelta(minutes=16))
    assert recovery.open_stalls() == 1
    note = crew.team.messages.get()
    assert (note.recipient_name, note.body) == ("builder-1", "It compiles."), "the lead's words reach the agent"


@pytest.mark.parametrize(("choice", "held_back"), [("stop", True), ("retry", False)])
def test_a_stalled_run_can_be_stopped_or_tried_again(crew, choice, held_back):
    held = crew.claim()
    quiet(held, 16)
    recovery.open_stalls()
    world.answer(Decision.objects.get(), choice)
    assert workers.heartbeat("w1", held={held.id: held.fence}) == {held.id: Directive.STOP}
    world.expire_lease(held.id)
    recovery.take_back_expired()
    assert (crew.task().status, crew.task().held) == ("pending", held_back)
    scheduling.tick(crew.team.pk)
    assert Run.objects.filter(task=crew.tasks[0]).count() == (1 if held_back else 2)


@pytest.mark.parametrize(("choice", "reason", "held_back"), [("stop", "stopped", True), ("retry", "superseded", False)])
def test_what_the_lead_chooses_is_done_also_where_the_worker_has_just_died(crew, choice, reason, held_back):
    held = crew.claim()
    quiet(held, 16)
    recovery.open_stalls()
    world.expire_lease(held.id)
    recovery.take_back_expired()  # the card is open until the next sweep
    world.answer(Decision.objects.get(), choice)
    run = Run.objects.get(pk=held.id)
    assert (run.status, run.reason) == ("killed", reason)
    assert crew.task().held is held_back
    assert Run.objects.filter(task=crew.tasks[0]).count() == (1 if held_back else 2)


def test_a_stall_ends_by_itself_when_the_agent_goes_on(crew):
    held = crew.claim()
    quiet(held, 16)
    recovery.open_stalls()
    with time_machine.travel(world.now() + timedelta(seconds=5)):
        steps.record(held.id, held.fence, after=0, drafts=[world.say()])
        recovery.sweep()
    stall = Decision.objects.get()
    assert (stall.status, stall.closed_why) == ("withdrawn", "the agent goes on by itself")


def test_a_stall_keeps_no_run_from_going_on_elsewhere(crew):
    held = crew.claim()
    quiet(held, 16)
    recovery.open_stalls()
    runs.park(held.id, held.fence, reason=Reason.INTERRUPTED, interrupted=True)
    assert not world.is_parked(held.id)
    recovery.sweep()
    assert Decision.objects.get().status == "withdrawn"
    assert world.take(held.id).fence == held.fence + 1


def test_a_lost_worker_with_a_stall_open_is_taken_back_to_go_on(crew):
    held = crew.claim()
    quiet(held, 16)
    recovery.open_stalls()
    world.expire_lease(held.id)
    recovery.sweep()
    assert not world.is_parked(held.id)
