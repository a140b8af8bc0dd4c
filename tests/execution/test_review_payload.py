"""What a person is shown of work that they judge: a long change is cut, and by how much is said."""

import pytest

from tasks_app.domain import asked
from tasks_app.execution import review
from tasks_app.models import Run
from tasks_app.services import snapshots
from tasks_app.tools.tasks import Update
from tests import factories as make

pytestmark = [pytest.mark.django_db, pytest.mark.files]


@pytest.fixture
def shown(tmp_path, settings):
    """Return a function that gives what is asked when a file of this text was added."""
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir(mode=0o700)
    work = tmp_path / "work"
    work.mkdir()

    def _shown(text):
        row = make.RunFactory(task__team__workspace=str(work), task__team__workspace_mode="in_place")
        slug = Run.objects.select_related("team").get(pk=row.pk).team.slug
        (work / "a.txt").write_text("a")
        Run.objects.filter(pk=row.pk).update(workspace_commit=snapshots.take(slug, str(work)))
        (work / "b.txt").write_text(text)
        run = Run.objects.select_related("team", "task").get(pk=row.pk)
        return review._payload(run, [], Update(taskId="1", summary="Done"), [])

    return _shown


def left(payload):
    return [one for one in asked.warnings(payload) if "of what changed are not shown" in one]


def test_what_is_left_out_of_a_long_change_is_counted_however_long_it_is(shown):
    payload = shown("x" * 300_000)
    patch = payload["diff"]["length"]
    assert 300_000 < patch < 301_000
    assert (payload["left_out"], len(payload["diff"]["patch"])) == (patch - review.PATCH_LIMIT, review.PATCH_LIMIT)
    assert left(payload) == [
        f"{patch - review.PATCH_LIMIT:,} more characters of what changed are not shown: look at them in the workspace."
    ]


def test_a_change_that_is_shown_whole_leaves_nothing_out(shown):
    payload = shown("x" * 10_000)
    assert (payload["left_out"], left(payload)) == (0, [])


def test_where_no_more_was_read_it_says_more_than(shown, monkeypatch):
    monkeypatch.setattr(review.differences, "READ", 100_000)
    (said,) = left(shown("x" * 300_000))
    assert said.startswith("More than 79,")


def test_where_nothing_of_it_was_read_it_says_so(shown, monkeypatch):
    monkeypatch.setattr(review.differences, "READ", 100)
    payload = shown("x" * 300_000)
    assert left(payload) == []
    assert "What changed could not be read whole: look at it in the workspace." in asked.warnings(payload)
