"""A process that died or did not start is followed by another life of the run, with pauses and up to a limit."""

import time

import pytest

from tasks_app.domain.leases import CRASHES, DEATHS
from tasks_app.domain.statuses import Reason
from tasks_app.execution import prompts
from tasks_app.models import Decision, Run
from tasks_app.runners.port import OutcomeKind
from tasks_app.services import decisions, steps
from tests.execution.lives import run_of, settle
from tests.services import world

BROKEN = (Reason.NO_RESULT, Reason.CRASHED, Reason.START_FAILED)


@pytest.fixture
def held(crew):
    return crew.claim()


@pytest.mark.parametrize("reason", BROKEN)
def test_a_process_that_died_is_followed_by_another_life_up_to_the_limit(held, reason):
    for _ in range(CRASHES - 1):
        settle(held, OutcomeKind.FAILED, reason, broken=True)
        assert (run_of(held).status, run_of(held).interrupted) == ("pending", True)
        Run.objects.update(due_at=0)
        held = world.take(held.id)
    settle(held, OutcomeKind.FAILED, reason, detail="exit 137", broken=True)
    assert (run_of(held).status, run_of(held).reason) == ("failed", reason.value)


@pytest.mark.parametrize(("reason", "pauses"), [(Reason.START_FAILED, [0, 1, 2, 4, 8]), (Reason.CRASHED, [0] * 5)])
def test_a_process_that_does_not_start_is_tried_again_after_longer_and_longer_for_a_full_disk_may_pass(held, reason, pauses):
    """Three workers that all found the disk full used up an attempt's six lives within a second (chaos, seed 40)."""
    waited = []
    for _ in pauses:
        before = time.time()
        settle(held, OutcomeKind.FAILED, reason, broken=True)
        waited.append(round(run_of(held).due_at - before))
        assert run_of(held).retries == 0
        Run.objects.update(due_at=0)
        held = world.take(held.id)
    assert waited == pauses


def test_work_in_between_sets_the_count_of_crashes_back_and_yet_it_does_not_die_for_ever(held):
    for number in range(DEATHS - 1):
        steps.record(held.id, held.fence, after=number, drafts=[world.say()])
        settle(held, OutcomeKind.FAILED, Reason.CRASHED, broken=True)
        held = world.take(held.id)
    assert run_of(held).status == "running"
    steps.record(held.id, held.fence, after=DEATHS - 1, drafts=[world.say()])
    settle(held, OutcomeKind.FAILED, Reason.CRASHED, broken=True)
    assert (run_of(held).status, run_of(held).reason) == ("failed", "crashed")


def test_output_too_large_is_gone_on_from_once_and_the_next_life_is_told(held):
    """N35, second"""
    settle(held, OutcomeKind.FAILED, Reason.OUTPUT_TOO_LARGE, broken=True)
    held = world.take(held.id)
    steps.record(held.id, held.fence, after=0, drafts=[world.say()])
    assert "too large to be read" in prompts.going_on(run_of(held), [], interrupted_call="")
    settle(held, OutcomeKind.FAILED, Reason.OUTPUT_TOO_LARGE, broken=True)
    assert (run_of(held).status, run_of(held).reason) == ("failed", "output_too_large")


def test_a_process_that_died_while_it_waited_leaves_its_question_open(held):
    decision = decisions.open_for_run(held.id, held.fence, world.ask())
    settle(held, OutcomeKind.FAILED, Reason.CRASHED, broken=True)
    assert (run_of(held).status, Decision.objects.get().status) == ("pending", "open")
    world.answer(decision, "allow")
    assert world.take(held.id).fence == held.fence + 1
