"""Completions: a reported task is completed, also by the sweep, and its agent goes on knowing what it has done."""

import pytest
from django.db import OperationalError

from tasks_app.domain.leases import CRASHES
from tasks_app.models import Agent, Checkpoint, Run
from tasks_app.services import agents, completions, recovery, runs
from tests.services import world

pytestmark = pytest.mark.django_db

REPORT = {"status": "completed", "evidence": {"It works.": "yes"}, "summary": "All there."}


@pytest.fixture
def crew():
    return world.make()


@pytest.mark.parametrize(("before", "status"), [(CRASHES - 2, "pending"), (CRASHES - 1, "completed")])
def test_what_was_reported_is_completed_where_no_worker_comes_to_end_it(crew, before, status):
    held = crew.claim()
    runs.report(held.id, held.fence, REPORT)
    Run.objects.update(crashes=before)
    world.expire_lease(held.id)
    recovery.take_back_expired()
    assert Run.objects.get().status == status
    assert crew.task().status == ("completed" if status == "completed" else "in_progress")


def test_the_sweep_hands_over_what_was_done_and_saves_no_checkpoint_for_it_asks_no_git(crew):
    held = crew.claim()
    runs.note_session(held.id, held.fence, "session")
    runs.report(held.id, held.fence, REPORT)
    Run.objects.update(crashes=CRASHES - 1)
    world.expire_lease(held.id)
    recovery.take_back_expired()
    agent, task = Agent.objects.get(pk=held.agent_id), crew.task()
    assert (agent.session_id, agent.handover) == ("", "- T-1 Build: All there.")
    assert (task.evidence, task.output, task.completed_by) == ({"It works.": "yes"}, "All there.", "builder-1")
    assert not Checkpoint.objects.exists()


def test_what_can_never_be_stored_fails_in_words_and_keeps_nobody_else_from_being_taken_back(monkeypatch):
    crew = world.make(titles=("A", "B"))
    first, second = crew.claim(0, 0), crew.claim(1, 1)
    runs.report(first.id, first.fence, REPORT)
    Run.objects.filter(pk=first.id).update(crashes=CRASHES - 1)
    for held in (first, second):
        world.expire_lease(held.id)
    hand_over = agents.set_session

    def unstorable(*given, **more):
        hand_over(*given, **more)
        raise OperationalError("string or blob too big")

    monkeypatch.setattr(agents, "set_session", unstorable)
    assert recovery.take_back_expired() == 2
    failed = Run.objects.get(pk=first.id)
    assert (failed.status, failed.reason, crew.task().status) == ("failed", "crashed", "pending")
    assert failed.dossier["evidence"] == {"It works.": "yes"}
    assert Agent.objects.get(pk=first.agent_id).handover == ""


@pytest.mark.parametrize(
    ("report", "stop", "reported"),
    [
        (None, "", False),
        ({"status": "pending"}, "", False),
        (REPORT, "", True),
        (REPORT, "stopped", True),
        (REPORT, "by_hand", False),
    ],
)
def test_a_report_counts_unless_a_person_has_completed_the_task(report, stop, reported):
    assert completions.is_reported(Run(report=report, stop_reason=stop)) is reported
