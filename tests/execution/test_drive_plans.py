"""Plan mode over the lives of a run: what the lead said of its plans counts in each of them."""

import pytest

from tasks_app.domain.planning import APPROVE_LAST, MAX_REJECTED
from tasks_app.domain.statuses import DecisionKind, Reason
from tasks_app.models import Agent, Decision
from tasks_app.runners.claude.asks import stuck_plan_payload
from tasks_app.runners.port import OutcomeKind
from tests.execution.lives import Scripted, drive_on, outcome
from tests.execution.test_drive import done, parks, resumed
from tests.services import world

pytestmark = pytest.mark.usefixtures("scripted", "database_threads")


def test_plan_mode_lasts_until_the_plan_is_approved_and_stays_off_after_that(crew):
    """N22"""
    crew.agents[0].plan_mode = True
    crew.agents[0].save()
    held = crew.claim()
    drive_on(held, parks(DecisionKind.PLAN))
    assert Scripted.specs[0].plan_mode is True
    world.answer(Decision.objects.get(), "revise", note="Smaller.")
    drive_on(world.take(held.id), parks(DecisionKind.PLAN, plan="# Smaller"))
    assert Scripted.specs[0].plan_mode is True
    world.answer(Decision.objects.get(status="open"), "approve")
    drive_on(world.take(held.id), outcome(OutcomeKind.PARKED, Reason.INTERRUPTED))
    assert Scripted.specs[0].plan_mode is False
    drive_on(world.take(held.id), done())
    assert Scripted.specs[0].plan_mode is False


def test_plans_sent_back_after_each_park_are_counted_through_all_lives(crew):
    """N22: a lead who answers each plan after the park is asked what to do with the fifth one, too."""
    held = crew.claim()
    for number in range(MAX_REJECTED):
        drive_on(held, parks(DecisionKind.PLAN, plan=f"# {number}"))
        assert len(Scripted.specs[0].plans_sent_back) == number
        world.answer(Decision.objects.get(status="open"), "revise", note=f"No {number}.")
        held = world.take(held.id)
    stuck = stuck_plan_payload("# last", ["No."] * 4)
    drive_on(held, parks(DecisionKind.ESCALATION, **stuck))
    assert Scripted.specs[0].plans_sent_back == ("No 0.", "No 1.", "No 2.", "No 3.")
    world.answer(Decision.objects.get(status="open"), "answer", data={"option": "Give new guidance", "text": "Smaller."})
    held = world.take(held.id)
    drive_on(held, parks(DecisionKind.PLAN, plan="# smaller"))
    assert Scripted.specs[0].plans_sent_back == (), "the lead has said what to do: it is counted anew"
    assert "stay in plan mode" in Scripted.specs[0].prompt


def test_the_last_plan_approved_after_the_park_ends_plan_mode(crew):
    Agent.objects.update(plan_mode=True)
    held = crew.claim()
    drive_on(held, parks(DecisionKind.ESCALATION, **stuck_plan_payload("# last", ["No."] * 4)))
    given = resumed(crew, held, "answer", data={"option": APPROVE_LAST, "text": ""})
    assert given.plan_mode is False
    assert "Plan mode is over; carry this plan out now:\n# last" in given.prompt
