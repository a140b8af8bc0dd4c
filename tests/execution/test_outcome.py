"""What came of a life becomes states: of the run, of its decisions and of its task."""

import time
from datetime import timedelta

import pytest
import time_machine
from django.db import OperationalError
from django.utils import timezone

from tasks_app.domain import retry
from tasks_app.domain.retry import MAX_RETRIES
from tasks_app.domain.statuses import TRANSIENT, DecisionKind, Reason
from tasks_app.execution import outcome
from tasks_app.models import Agent, Decision, Run, Team
from tasks_app.runners.port import OutcomeKind
from tasks_app.services import actions, decisions, runs, scheduling, steps
from tests.execution.lives import run_of, settle
from tests.services import world

LASTING = [r for r in Reason if r not in TRANSIENT | {Reason.BUDGET}]


@pytest.fixture
def held(crew):
    return crew.claim()


def test_a_reported_task_is_completed_with_its_evidence_and_summary(crew, held):
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {"It works.": "yes"}, "summary": "All there."})
    assert settle(held, OutcomeKind.ENDED, result="Bye.").again is False
    assert (run_of(held).status, run_of(held).reason, run_of(held).result) == ("completed", "done", "Bye.")
    task = crew.task()
    assert (task.status, task.evidence, task.output, task.completed_by) == (
        "completed",
        {"It works.": "yes"},
        "All there.",
        "builder-1",
    )
    assert Team.objects.get().ended_at is not None


def test_a_fault_in_giving_out_what_comes_next_undoes_nothing_of_what_came_of_the_life(crew, held, monkeypatch):
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {"It works.": "yes"}, "summary": "There."})

    def faulty(*_, **__):
        Team.objects.update(ended_at=timezone.now())
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(outcome.scheduling, "give_out", faulty)
    assert settle(held, OutcomeKind.ENDED).following is None
    assert (run_of(held).status, crew.task().status) == ("completed", "completed")


def test_a_database_that_goes_away_in_between_leaves_nothing_half_written(crew, held, monkeypatch):
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {"It works.": "yes"}, "summary": "There."})
    before = (run_of(held).status, crew.task().status)

    def away(*_, **__):
        raise OperationalError("away")

    with monkeypatch.context() as patched:
        patched.setattr(outcome.scheduling, "give_out", away)
        with pytest.raises(OperationalError):
            settle(held, OutcomeKind.ENDED)
    assert (run_of(held).status, crew.task().status) == before == ("running", "in_progress")
    settle(held, OutcomeKind.ENDED)
    assert (run_of(held).status, crew.task().status) == ("completed", "completed")


def test_a_task_that_was_given_back_is_pending_again_with_its_dossier(crew, held):
    report = {"status": "pending", "failure": "401 three ways", "approaches": ["key", "token"], "summary": ""}
    runs.report(held.id, held.fence, report)
    assert settle(held, OutcomeKind.ENDED).again is False
    run = run_of(held)
    assert (run.status, run.reason, run.detail) == ("failed", "reported", "401 three ways")
    assert (run.dossier["error"], run.dossier["approaches"]) == ("401 three ways", ["key", "token"])
    assert crew.task().attempts == 1


def test_a_run_that_ends_without_a_report_is_asked_once_more_and_then_fails(crew, held):
    """N08"""
    assert settle(held, OutcomeKind.ENDED, may_ask=True).again is True
    assert run_of(held).status == "running"
    assert settle(held, OutcomeKind.ENDED).again is False
    assert (run_of(held).status, run_of(held).reason) == ("failed", "unreported")
    assert Run.objects.get(attempt=2).agent_id == crew.agents[1].pk, "a retry is attempt 2 of the same task"


def test_a_life_that_was_lost_writes_nothing(crew, held):
    before = world.frozen(crew.team)
    assert settle(held, OutcomeKind.LOST).again is False
    assert world.frozen(crew.team) == before


def test_a_run_that_waits_for_the_lead_is_parked(held):
    decisions.open_for_run(held.id, held.fence, world.ask())
    settle(held, OutcomeKind.PARKED, Reason.PARKED)
    assert (run_of(held).reason, run_of(held).interrupted) == ("parked", False)
    assert world.is_parked(held.id)


def test_a_run_whose_worker_leaves_goes_on_elsewhere_at_once(held):
    settle(held, OutcomeKind.PARKED, Reason.INTERRUPTED)
    assert (run_of(held).status, run_of(held).reason, run_of(held).interrupted) == ("pending", "interrupted", True)
    assert world.take(held.id).fence == held.fence + 1


@pytest.mark.parametrize(
    "how", [(OutcomeKind.PARKED, Reason.INTERRUPTED, Reason.BUDGET), (OutcomeKind.FAILED, Reason.BUDGET, None)]
)
def test_a_used_up_budget_parks_the_run_and_asks_the_lead_what_next(crew, held, how):
    Team.objects.update(used_usd=21)
    kind, reason, leaving = how
    settle(held, kind, reason, leaving_for=leaving)
    asked = Decision.objects.get()
    assert (asked.kind, asked.payload["scope"], asked.payload["used_usd"], asked.payload["limit_usd"]) == (
        "budget",
        "team",
        21.0,
        20.0,
    )
    assert (run_of(held).reason, world.is_parked(held.id)) == ("budget", True)
    assert crew.task().attempts == 0


def test_a_waived_budget_that_the_process_itself_enforces_fails_the_attempt(crew, held):
    Run.objects.update(budget_waived=True)
    settle(held, OutcomeKind.FAILED, Reason.BUDGET, detail="Claude Code stopped at its own limit.")
    assert run_of(held).status == "failed"


def test_an_attempt_over_its_time_fails_in_words(held):
    settle(held, OutcomeKind.PARKED, Reason.INTERRUPTED, leaving_for=Reason.TIME_LIMIT)
    assert (run_of(held).status, run_of(held).reason) == ("failed", "time_limit")
    assert "time limit" in run_of(held).detail


@pytest.mark.parametrize("reason", sorted(TRANSIENT))
def test_a_rate_limit_or_overload_is_waited_out_and_is_no_attempt(crew, held, reason):
    """N32"""
    at = time.time() + 1234
    settle(held, OutcomeKind.FAILED, reason, detail="until 12:00", raw="{}", retry_at=at)
    run = run_of(held)
    assert (run.status, run.reason, run.retries, run.due_at >= at) == ("pending", reason.value, 1, True)
    assert (crew.task().status, crew.task().attempts) == ("in_progress", 0)


def test_back_off_grows_with_each_try(crew, held):
    waits = []
    for _ in range(3):
        settle(held, OutcomeKind.FAILED, Reason.OVERLOADED)
        waits.append(run_of(held).due_at - time.time())
        Run.objects.update(due_at=0)
        held = world.take(held.id)
    assert 0 < waits[0] < waits[1] < waits[2] < 700


@pytest.mark.parametrize("hours", [-3, 3])
def test_the_next_try_is_counted_by_the_clock_of_the_database_however_wrong_the_hosts_is(held, hours):
    with time_machine.travel(timezone.now() + timedelta(hours=hours)):
        settle(held, OutcomeKind.FAILED, Reason.OVERLOADED)
    assert 0 < run_of(held).due_at - time.time() < 60


@pytest.mark.parametrize("reason", sorted(TRANSIENT))
def test_one_that_never_ends_is_put_to_the_lead_once_and_neither_counts_nor_goes_to_the_next_agent(crew, held, reason):
    for _ in range(MAX_RETRIES):
        settle(held, OutcomeKind.FAILED, reason)
        Run.objects.update(due_at=0)
        held = world.take(held.id)
    settle(held, OutcomeKind.FAILED, reason, detail="still limited")
    scheduling.tick(crew.team.pk)
    assert (run_of(held).status, run_of(held).reason, Run.objects.count()) == ("failed", reason.value, 1)
    assert (crew.task().status, crew.task().failed, crew.task().attempts) == ("pending", True, 0)
    asked = Decision.objects.get()
    assert (asked.kind, asked.status) == ("escalation", "open")
    assert f"after {MAX_RETRIES} retries" in asked.payload["problem"]
    assert "no attempt was counted" in asked.payload["problem"]
    labels = [option["label"] for option in asked.payload["options"]]
    assert labels == ["Give it to builder-2", "Let builder-1 try again", "Mark it completed", "Cancel it"]


def test_after_retries_in_vain_the_lead_may_let_it_be_tried_again_with_all_attempts_left(crew, held):
    Run.objects.update(retries=MAX_RETRIES)
    settle(held, OutcomeKind.FAILED, Reason.OVERLOADED, detail="overloaded")
    world.answer(Decision.objects.get(), "answer", data={"option": "Let builder-1 try again", "text": ""})
    again = Run.objects.get(status="pending")
    assert (again.agent.name, again.retries) == ("builder-1", 0)
    assert (crew.task().attempts, crew.task().attempts_allowed) == (0, 3)


@pytest.mark.parametrize("reason", LASTING)
def test_every_other_failure_ends_the_attempt_and_keeps_what_is_known_of_it(crew, held, reason):
    steps.record(held.id, held.fence, after=0, drafts=[world.say("Tried it.", usage=world.usage(), cost=world.cost("p", 0.25))])
    Agent.objects.update(session_id="session")
    settle(held, OutcomeKind.FAILED, reason, detail="in words", raw="raw", result="partial")
    run = run_of(held)
    assert (run.status, run.reason, run.detail, run.raw, run.result) == ("failed", reason.value, "in words", "raw", "partial")
    assert run.dossier["error"] == "in words"
    assert run.dossier["last_steps"] == ["said: Tried it."]
    assert (run.dossier["tokens"], run.dossier["cost_usd"]) == (3 + 9284 + 63347 + 10, "0.250000")
    assert crew.task().attempts == int(retry.counts(reason))
    assert Agent.objects.get(pk=held.agent_id).session_id == "", "the next task starts in a fresh session"


def test_the_next_agent_is_told_how_long_an_attempt_has_worked_and_not_how_long_it_waited_for_the_lead(held):
    Run.objects.update(started_at=timezone.now() - timedelta(hours=8), worked_s=60)
    settle(held, OutcomeKind.FAILED, Reason.TURN_LIMIT)
    assert 60 <= run_of(held).dossier["seconds"] < 120


@pytest.mark.parametrize("kind", [OutcomeKind.STOPPED, OutcomeKind.PARKED, OutcomeKind.FAILED])
def test_a_run_that_was_asked_to_stop_has_stopped_however_its_process_ended(crew, held, kind):
    decisions.open_for_run(held.id, held.fence, world.ask())
    actions.stop_run(held.id, actor="user:ada")
    settle(held, kind, Reason.NO_RESULT)
    run, task = run_of(held), crew.task()
    assert (run.status, run.reason, run.detail, run.pid) == ("killed", "stopped", "Stopped by ada.", 0)
    assert (task.status, task.held, task.failed, task.attempts) == ("pending", True, False, 0)
    assert run.dossier["reason"] == "stopped"
    assert Decision.objects.get().status == "withdrawn"
    assert Run.objects.count() == 1


def test_a_run_stopped_for_a_reassignment_hands_the_task_over(crew, held):
    actions.reassign(held.task_id, agent_id=crew.agents[1].pk, guidance="Use uv.", actor="user:ada")
    settle(held, OutcomeKind.STOPPED, Reason.STOPPED)
    assert (run_of(held).status, run_of(held).reason) == ("killed", "superseded")
    following = Run.objects.get(status="pending")
    assert (following.agent_id, following.guidance) == (crew.agents[1].pk, "Use uv.")


def test_a_run_that_finished_while_it_was_asked_to_stop_has_finished(crew, held):
    actions.stop_run(held.id, actor="user:ada")
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {"1": "yes"}})
    settle(held, OutcomeKind.ENDED)
    assert (run_of(held).status, crew.task().status) == ("completed", "completed")


def test_what_was_still_asked_ends_with_the_run(held):
    decisions.open_for_run(held.id, held.fence, world.ask(DecisionKind.QUESTION))
    settle(held, OutcomeKind.FAILED, Reason.AUTH, detail="401")
    asked = Decision.objects.get(kind="question")
    assert (asked.status, asked.closed_why) == ("withdrawn", "its run failed")
