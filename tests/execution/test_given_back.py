"""A task that its agent gave back, and what came in the same moment: an answer, or somebody who stops it."""

import pytest

from tasks_app.domain.statuses import Reason
from tasks_app.execution import db, dossier
from tasks_app.models import Decision, Run
from tasks_app.runners.port import OutcomeKind
from tasks_app.services import actions, runs
from tests.execution.lives import ENDED, Scripted, asks_and_parks, done, drive_on, run_of, settle
from tests.services import world

pytestmark = pytest.mark.usefixtures("scripted", "database_threads")


def test_who_gave_a_task_back_and_then_asked_still_hears_the_answer(crew):
    held = crew.claim()

    async def gives_back_and_asks(given, port):
        await port.note_session(given.new_session_id)
        await db.call(runs.report, held.id, held.fence, {"status": "pending", "failure": "Perhaps.", "approaches": []})
        return await asks_and_parks(port)

    drive_on(held, gives_back_and_asks)
    world.answer(Decision.objects.get(), "deny", note="Not so.")
    drive_on(world.take(held.id), done())
    assert "Not so." in Scripted.specs[0].prompt
    assert crew.task().status == "completed"


@pytest.mark.parametrize("status", ["pending", "completed", ""], ids=["given back", "done", "silent"])
def test_who_is_to_be_stopped_is_seen_stopped_unless_the_task_is_done(crew, status):
    held = crew.claim()

    async def ends(given, port):
        if status:
            await db.call(runs.report, held.id, held.fence, {"status": status, "failure": "No.", "evidence": {"1": "y"}})
        await db.call(Run.objects.filter(pk=held.id).update, stop_asked_at=world.now(), stop_reason="stopped")
        return ENDED

    drive_on(held, ends)
    assert Run.objects.get(attempt=1).status == ("completed" if status == "completed" else "killed")
    assert not Run.objects.filter(attempt=2).exists(), "it is held until somebody gives it out again"


def test_a_stop_that_comes_while_git_looks_at_the_files_is_heard(crew, monkeypatch):
    held, make = crew.claim(), dossier.make

    async def gives_back(given, port):
        await db.call(runs.report, held.id, held.fence, {"status": "pending", "failure": "No.", "approaches": []})
        return ENDED

    def stopped_meanwhile(*given, **more):
        Run.objects.filter(pk=held.id, stop_asked_at=None).update(stop_asked_at=world.now(), stop_reason="stopped")
        return make(*given, **more)

    monkeypatch.setattr(dossier, "make", stopped_meanwhile)
    drive_on(held, gives_back)
    assert Run.objects.get(attempt=1).status == "killed"
    assert not Run.objects.filter(attempt=2).exists()


def test_a_task_that_is_given_to_another_while_git_looks_after_a_stop_is_given_to_that_one(crew, monkeypatch):
    held, make = crew.claim(), dossier.make
    actions.stop_run(held.id, actor="user:ada")

    def reassigned_meanwhile(*given, **more):
        monkeypatch.setattr(dossier, "make", make)
        actions.reassign(held.task_id, agent_id=crew.agents[1].pk, guidance="Use uv.", actor="user:bob")
        return make(*given, **more)

    monkeypatch.setattr(dossier, "make", reassigned_meanwhile)
    settle(held, OutcomeKind.STOPPED, Reason.STOPPED)
    assert (run_of(held).reason, run_of(held).detail, crew.task().held) == ("superseded", "Stopped by bob.", False)
    following = Run.objects.get(attempt=2)
    assert (following.agent_id, following.guidance) == (crew.agents[1].pk, "Use uv.")
