"""What comes of an attempt whose task a person completed meanwhile, and what a completed one keeps."""

import pytest

from tasks_app.domain.statuses import Reason
from tasks_app.models import Event
from tasks_app.runners.port import OutcomeKind
from tasks_app.services import actions, runs
from tests.execution.test_outcome import held, run_of, settle

__all__ = ["held"]


@pytest.mark.parametrize("kind", [OutcomeKind.STOPPED, OutcomeKind.ENDED, OutcomeKind.PARKED])
def test_what_a_person_completed_meanwhile_is_told_as_one_story(crew, held, kind):
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {}, "summary": "Built."})
    actions.complete_by_hand(held.task_id, note="Did it.", actor="user:ada")
    settle(held, kind, Reason.NO_RESULT)
    run, task = run_of(held), crew.task()
    assert (run.status, run.reason, task.status, task.completed_by, task.output) == (
        "killed",
        "by_hand",
        "completed",
        "ada",
        "Did it.",
    )
    told = list(Event.objects.filter(team_id=task.team_id).order_by("seq").values_list("kind", flat=True))
    assert [kind for kind in told if kind in ("task.completed", "task.released", "run.completed", "run.killed")] == [
        "task.completed",
        "run.killed",
    ]


def test_a_completed_attempt_keeps_what_it_changed(crew, held, tmp_path):
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {}, "summary": "Built."})
    settle(held, OutcomeKind.ENDED, Reason.DONE)
    assert (run_of(held).status, set(run_of(held).dossier)) == ("completed", {"attempt", "diff", "workspace_end"})
