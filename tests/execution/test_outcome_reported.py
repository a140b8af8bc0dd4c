"""What an agent has reported as completed is completed, whatever ends its life after that."""

import errno

import pytest

from tasks_app.domain.statuses import TRANSIENT, Reason
from tasks_app.models import Agent, Checkpoint, Decision, Run, Team
from tasks_app.runners.port import OutcomeKind
from tasks_app.services import actions, decisions, recovery, runs, snapshots
from tests.execution.lives import done, drive_on, run_of, settle
from tests.services import world

REPORT = {"status": "completed", "evidence": {"It works.": "yes"}, "summary": "All there."}


@pytest.fixture
def held(crew):
    taken = crew.claim()
    runs.note_session(taken.id, taken.fence, "session")
    runs.report(taken.id, taken.fence, REPORT)
    return taken


@pytest.mark.parametrize(
    ("kind", "reason", "leaving_for"),
    [
        *((OutcomeKind.FAILED, reason, None) for reason in sorted({*TRANSIENT, Reason.TURN_LIMIT, Reason.REFUSED, Reason.ERROR})),
        (OutcomeKind.FAILED, Reason.AUTH, None),
        (OutcomeKind.FAILED, Reason.BUDGET, None),
        (OutcomeKind.PARKED, Reason.INTERRUPTED, Reason.BUDGET),
        (OutcomeKind.PARKED, Reason.INTERRUPTED, Reason.TIME_LIMIT),
    ],
)
def test_a_limit_or_an_error_after_the_report_takes_nothing_from_it(crew, held, kind, reason, leaving_for):
    Team.objects.update(used_usd=21)
    settle(held, kind, reason, leaving_for=leaving_for, result="Bye.", detail="in words")
    run, task = run_of(held), crew.task()
    assert (run.status, run.reason, run.result, run.dossier["attempt"]) == ("completed", "done", "Bye.", 1)
    assert (task.status, task.evidence, task.output, task.attempts) == ("completed", {"It works.": "yes"}, "All there.", 0)
    assert not Decision.objects.exists(), "nobody is asked for money for what is done"
    assert Checkpoint.objects.get().name == "after T-1 Build"


def test_a_process_that_died_after_the_report_is_followed_by_no_other(crew, held):
    settle(held, OutcomeKind.FAILED, Reason.CRASHED, broken=True)
    assert (run_of(held).status, crew.task().status) == ("completed", "completed")


@pytest.mark.parametrize(("kind", "session"), [(OutcomeKind.ENDED, "session"), (OutcomeKind.FAILED, "")])
def test_what_went_wrong_after_the_report_does_not_go_on_with_the_agents_next_task(held, kind, session):
    settle(held, kind, Reason.REFUSED)
    agent = Agent.objects.get(pk=held.agent_id)
    assert (agent.session_id, agent.handover) == (session, "- T-1 Build: All there.")


def test_what_it_still_asked_ends_with_it(held):
    decisions.open_for_run(held.id, held.fence, world.ask())
    settle(held, OutcomeKind.FAILED, Reason.TURN_LIMIT)
    assert (Decision.objects.get().status, Decision.objects.get().closed_why) == ("withdrawn", "its run ended")


def test_one_whose_worker_leaves_is_completed_by_its_next_life(crew, held):
    settle(held, OutcomeKind.PARKED, Reason.INTERRUPTED)
    assert (run_of(held).status, run_of(held).reason, crew.task().status) == ("pending", "interrupted", "in_progress")


def test_one_that_asks_the_lead_waits_for_the_answer(crew, held):
    decisions.open_for_run(held.id, held.fence, world.ask())
    settle(held, OutcomeKind.PARKED, Reason.PARKED)
    assert (world.is_parked(held.id), Decision.objects.get().status) == (True, "open")


def test_one_that_was_lost_writes_nothing(crew, held):
    before = world.frozen(crew.team)
    settle(held, OutcomeKind.LOST)
    assert world.frozen(crew.team) == before


@pytest.mark.parametrize("kind", [OutcomeKind.STOPPED, OutcomeKind.PARKED, OutcomeKind.FAILED])
def test_who_stops_it_before_its_turn_is_over_was_first(crew, held, kind):
    actions.stop_run(held.id, actor="user:ada")
    settle(held, kind, Reason.NO_RESULT)
    assert (run_of(held).status, crew.task().status, crew.task().held) == ("killed", "pending", True)


@pytest.mark.usefixtures("scripted", "database_threads")
def test_it_outlasts_a_disk_that_is_full_for_all_its_lives(crew, monkeypatch):
    held, take = crew.claim(), snapshots.take
    full = []

    def refused(*given):
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return take(*given)

    async def reports_on_a_full_disk(spec, port):
        ended = await done()(spec, port)
        full.append(True)
        return ended

    monkeypatch.setattr(snapshots, "take", refused)
    drive_on(held, reports_on_a_full_disk)
    while Run.objects.get().status == "running":
        world.expire_lease(held.id)
        recovery.take_back_expired()
        if Run.objects.get().status == "pending":
            held = world.take(held.id)
            drive_on(held)
    run, task = Run.objects.get(), crew.task()
    assert (run.status, run.reason, task.status, task.output) == ("completed", "done", "completed", "All there.")
    assert not Checkpoint.objects.exists(), "there is no snapshot of its files"
