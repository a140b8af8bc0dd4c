"""What a person is shown of work that they judge: a long change is cut, and by how much is said."""

import pytest

from tasks_app.execution import review
from tasks_app.models import Run
from tasks_app.tools.tasks import Update
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("more", [0, 70])
def test_what_is_left_out_of_a_long_change_is_counted(monkeypatch, more):
    patch = "x" * (review.PATCH_LIMIT + more)
    monkeypatch.setattr(review.snapshots, "take", lambda *_: "")
    monkeypatch.setattr(review.differences, "diff", lambda *_: {"files": [], "summary": "", "patch": patch, "cut": False})
    run = Run.objects.select_related("team", "task").get(pk=make.RunFactory().pk)
    payload = review._payload(run, [], Update(taskId="1", summary="Done"), [])
    assert (payload["left_out"], len(payload["diff"]["patch"])) == (more, review.PATCH_LIMIT)
