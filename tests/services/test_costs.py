"""What a process had not reported when it died is missing in the cost, and everything that shows the cost says so."""

from dataclasses import replace

import pytest

from tasks_app.domain.statuses import Reason, RunStatus, StepKind
from tasks_app.models import Agent, Run, Task, Team
from tasks_app.runners.port import StepDraft
from tasks_app.services import endings, recovery, runs, steps
from tests.services import world

pytestmark = pytest.mark.django_db
PROMPT = StepDraft(StepKind.PROMPT, "Do it.", {"from": "crewdesk"})
TURN = world.say(usage=world.usage())
REPORT = StepDraft(StepKind.RESULT, "success", cost=world.cost("p", 0.25))


@pytest.fixture
def held():
    return world.make().claim()


def record(held, *drafts):
    steps.record(held.id, held.fence, after=runs.get(held.id).last_seq, drafts=drafts)


def park(held):
    runs.park(held.id, held.fence, reason=Reason.INTERRUPTED, interrupted=True)


def lose(held):
    world.expire_lease(held.id)
    recovery.take_back_expired()


def finish(held):
    endings.finish(held.id, held.fence, endings.Ending(RunStatus.FAILED, Reason.CRASHED))


def partial():
    return {model.__name__: model.objects.first().cost_partial for model in (Run, Task, Agent, Team)}


ENDS = (park, lose, finish)


@pytest.mark.parametrize("end", ENDS)
def test_a_life_that_ends_in_the_middle_of_a_turn_makes_every_cost_it_belongs_to_a_least_cost(held, end):
    record(held, PROMPT, TURN, REPORT)
    record(held, PROMPT)
    assert not any(partial().values()), "a turn that runs is no loss"
    end(held)
    assert all(partial().values())
    assert Run.objects.get().cost_usd == Task.objects.get().used_usd


@pytest.mark.parametrize("end", ENDS)
def test_a_life_whose_turns_have_all_reported_leaves_the_cost_whole(held, end):
    record(held, PROMPT, TURN)
    record(held, REPORT)
    end(held)
    assert not any(partial().values())


def test_a_report_of_a_turn_that_was_cut_off_while_the_model_spoke_is_a_least_cost(held):
    record(held, PROMPT, TURN, StepDraft(StepKind.RESULT, "", cost=replace(REPORT.cost, partial=True)))
    assert all(partial().values())
    record(held, PROMPT, TURN, StepDraft(StepKind.RESULT, "", cost=world.cost("p", 0.5)))
    finish(held)
    assert all(partial().values()), "a whole turn after it does not make up for it"


def test_a_report_of_the_next_life_does_not_make_up_for_what_was_lost(held):
    record(held, PROMPT, TURN)
    lose(held)
    later = world.take(held.id)
    record(later, PROMPT, TURN, StepDraft(StepKind.RESULT, "", cost=world.cost("q", 0.1)))
    finish(later)
    assert all(partial().values())
