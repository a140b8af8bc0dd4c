"""Dossiers: what is known of an attempt is kept however it ends, also where no process had it and nobody asked git."""

import pytest

from tasks_app.domain.leases import CRASHES
from tasks_app.domain.statuses import Reason, StepKind
from tasks_app.models import Decision, Run
from tasks_app.runners.port import StepDraft
from tasks_app.selectors import runs as reading
from tasks_app.services import actions, decisions, overruns, recovery, runs, steps
from tests.services import world

pytestmark = pytest.mark.django_db

CALL = StepDraft(StepKind.TOOL_CALL, "Bash", {"tool": "Bash", "input": {"command": "curl api"}}, tool_use_id="toolu_1")


@pytest.fixture
def crew():
    return world.make()


def work(crew):
    """An attempt that has tried something."""
    held = crew.claim()
    steps.record(held.id, held.fence, after=0, drafts=[world.say("401, it says.", usage=world.usage()), CALL])
    Run.objects.update(worked_s=60)
    return held


def park(held):
    runs.park(held.id, held.fence, reason=Reason.INTERRUPTED, interrupted=True)


def given_to_another_while_parked(crew, held):
    decisions.open_for_run(held.id, held.fence, world.ask())
    park(held)
    actions.reassign(held.task_id, agent_id=crew.agents[1].pk, actor="user:ada")


def stopped_while_parked(crew, held):
    park(held)
    actions.stop_run(held.id, actor="user:ada")


def stopped_with_its_team(crew, held):
    park(held)
    actions.stop_team(held.team_id, actor="user:ada")


def ended_for_its_budget(crew, held):
    Run.objects.update(budget_tokens=10)
    overruns.park(held.id, held.fence, ask_anyway=True)
    world.answer(Decision.objects.get(), "stop")


def lost_while_asked_to_stop(crew, held):
    actions.stop_run(held.id, actor="user:ada")
    world.expire_lease(held.id)
    recovery.take_back_expired()


def lost_again_and_again(crew, held):
    Run.objects.update(crashes=CRASHES - 1)
    world.expire_lease(held.id)
    recovery.take_back_expired()


@pytest.mark.parametrize(
    ("end", "reason", "error"),
    [
        (given_to_another_while_parked, "superseded", "Stopped by ada."),
        (stopped_while_parked, "stopped", "Stopped by ada."),
        (stopped_with_its_team, "stopped", "Stopped by ada."),
        (ended_for_its_budget, "budget", "The lead ended it for its budget."),
        (lost_while_asked_to_stop, "stopped", "Stopped by ada; its worker was lost before it could say so."),
        (lost_again_and_again, "crashed", f"The worker was lost {CRASHES} times in a row without one new step."),
    ],
)
def test_an_attempt_that_ends_while_no_process_has_it_leaves_what_it_tried(crew, end, reason, error):
    held = work(crew)
    end(crew, held)
    [told] = reading.dossiers(held.task_id)
    assert (told["attempt"], told["agent"], told["reason"], told["error"]) == (1, "builder-1", reason, error)
    assert told["last_steps"] == ["said: 401, it says.", 'tool_call: Bash {"command": "curl api"}']
    assert told["tokens"] == 3 + 9284 + 63347 + 10
    assert 60 <= told["seconds"] < 120


def test_what_its_agent_has_reported_of_it_is_told(crew):
    held = work(crew)
    runs.report(held.id, held.fence, {"status": "pending", "failure": "401 three ways", "approaches": ["key", "token"]})
    stopped_while_parked(crew, held)
    [told] = reading.dossiers(held.task_id)
    assert (told["error"], told["approaches"]) == ("401 three ways", ["key", "token"])


def test_an_attempt_that_no_worker_ever_had_has_tried_nothing(crew):
    runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    actions.reassign(crew.tasks[0].pk, agent_id=crew.agents[1].pk, actor="user:ada")
    assert Run.objects.get(attempt=1).status == "killed"
    assert reading.dossiers(crew.tasks[0].pk) == []
