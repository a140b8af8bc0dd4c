"""What follows the end of a life in its place: claimed by the commit that ends it, or left to others."""

import pytest
from django.db import InterfaceError, InternalError, OperationalError

from tasks_app.domain.errors import LeaseLost
from tasks_app.execution import outcome
from tasks_app.models import Run
from tasks_app.runners.port import OutcomeKind
from tasks_app.services import recovery, runs, scheduling, tasks
from tests.execution.lives import run_of, settle
from tests.services import world

HERE = outcome.Here("w", "h", has_room=lambda: True)


@pytest.fixture
def held(crew):
    return crew.claim()


def reported(crew, held):
    """A second task waits, and this life has done its own."""
    tasks.create(crew.team.pk, tasks.Draft("Second", criteria=("It works.",), role="builder"), actor="system")
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {"It works.": "yes"}, "summary": "There."})


def test_what_may_begin_after_it_is_claimed_for_its_place_by_the_commit_that_ends_it(crew, held, hints):
    reported(crew, held)
    found = settle(held, OutcomeKind.ENDED, here=HERE).following
    run = Run.objects.get(pk=found.id)
    assert (run.status, run.worker, run.host, run.fence) == ("running", "w", "h", 1)
    assert (found.fence, found.task_id, found.agent_id) == (1, run.task_id, run.agent_id)
    assert hints.nudges == []
    told = [kind for kind in world.kinds(crew.team) if kind.startswith(("run.", "task."))]
    assert told[-4:] == ["run.completed", "task.completed", "task.claimed", "run.started"]


def test_where_there_is_no_place_others_are_nudged_for_it(crew, held, hints, django_capture_on_commit_callbacks):
    reported(crew, held)
    with django_capture_on_commit_callbacks(execute=True):
        assert settle(held, OutcomeKind.ENDED).following is None
    second = Run.objects.exclude(pk=held.id).get()
    assert (second.status, hints.nudges) == ("pending", [second.pk])


@pytest.mark.parametrize("error", [OperationalError("away"), InterfaceError("away"), InternalError("away")])
def test_where_the_database_goes_away_while_what_comes_next_is_claimed_all_of_it_is_tried_again(crew, held, monkeypatch, error):
    reported(crew, held)
    error.__cause__ = type("Ended", (Exception,), {"sqlstate": "25P03"})()  # as PostgreSQL ends who stands still in a transaction

    def away(*_, **__):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(outcome.claims, "follow", away)
        with pytest.raises(type(error)):
            settle(held, OutcomeKind.ENDED, here=HERE)
    assert (run_of(held).status, crew.task().status) == ("running", "in_progress")
    assert settle(held, OutcomeKind.ENDED, here=HERE).following is not None


def test_a_fault_in_claiming_what_comes_next_leaves_it_to_the_sweep(crew, held, monkeypatch):
    reported(crew, held)

    def faulty(*_, **__):
        raise RuntimeError("a fault of ours")

    with monkeypatch.context() as patched:
        patched.setattr(outcome.claims, "follow", faulty)
        assert settle(held, OutcomeKind.ENDED, here=HERE).following is None
    assert (run_of(held).status, Run.objects.count()) == ("completed", 1)
    assert len(scheduling.tick(crew.team.pk)) == 1


def test_where_the_answer_to_the_commit_is_lost_what_it_has_claimed_goes_on_when_its_lease_is_over(crew, held):
    """The worker tries again, sees that it holds the run no more, and knows of no other: nobody drives what it has claimed."""
    reported(crew, held)
    following = settle(held, OutcomeKind.ENDED, here=HERE).following
    with pytest.raises(LeaseLost):
        settle(held, OutcomeKind.ENDED, here=HERE)
    assert (run_of(held).status, run_of(following).status) == ("completed", "running")
    world.expire_lease(following.id)
    recovery.sweep()
    assert (run_of(following).status, run_of(following).fence) == ("pending", 1)
    assert world.take(following.id).fence == 2
