"""Forks and rewinds through the API: who may, what comes back, and the shape of what is refused."""

import json
from pathlib import Path

import pytest

from tasks_app.models import Run
from tests import factories as make
from tests.services.forking import Tried, tried


@pytest.fixture
def one(lead, tmp_path: Path) -> Tried:
    return tried(tmp_path / "work", slug="forks", lead=lead)


def post(client, path, **body):
    return client.post(path, data=json.dumps(body), content_type="application/json")


def test_an_attempt_is_forked_at_a_message_that_is_listed(desk, one):
    root = f"/api/tasks/{one.run.task_id}"
    assert [each["at"] for each in desk.get(f"{root}/messages?run=1").json()["messages"]] == [1, 2, 5, 6]
    done = post(desk, f"{root}/fork", run=one.run.pk, at=5, guidance="Use Decimal.")
    assert (done.status_code, done.json()) == (201, {"forked": one.run.pk, "at": 5})
    assert Run.objects.get(attempt=2).fork["step"] == 5
    again = post(desk, f"{root}/fork", run="1", at=5)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")


def test_files_are_put_back_as_they_were_shown_and_had_again(desk, one):
    root = f"/api/tasks/{one.run.task_id}/rewind"
    shown = desk.get(f"{root}?run=1&at=1").json()
    assert (shown["files"], shown["done"]) == (["a.txt", "new/b.txt"], False)
    assert post(desk, root, run="1", at=1, seen="x").json()["error"]["code"] == "stale"
    assert post(desk, root, run="1", at=1, seen=shown["seen"]).json()["done"] is True
    assert (one.folder / "a.txt").read_text() == "before"
    assert desk.post("/api/teams/forks/undo-rewind").json() == {"files": 2}
    assert (one.folder / "a.txt").read_text() == "after"


def test_bad_words_and_attempts_of_other_tasks_are_refused(desk, one):
    root = f"/api/tasks/{one.run.task_id}"
    other = make.RunFactory()
    assert post(desk, f"{root}/fork", run=other.pk, at=1).status_code == 404
    assert post(desk, f"{root}/fork", run="1", at=0).status_code == 422
    assert post(desk, f"{root}/fork", run="1", at=1, agent="nobody").json()["error"]["field"] == "agent"
    assert post(desk, f"{root}/fork", run="1", at=1, files="never").status_code == 422
    assert post(desk, f"{root}/rewind", run="1", at=2**31).status_code == 422
    assert post(desk, f"/api/tasks/{other.task_id}/fork", run="1", at=1).status_code == 404


def test_who_may_only_watch_changes_nothing(desk, lead, tmp_path):
    one = tried(tmp_path / "work", slug="watched", viewer=lead)
    assert post(desk, f"/api/tasks/{one.run.task_id}/fork", run="1", at=1).status_code == 403
    assert post(desk, f"/api/tasks/{one.run.task_id}/rewind", run="1", at=1).status_code == 403
    assert desk.post("/api/teams/watched/undo-rewind").status_code == 403
    assert desk.get(f"/api/tasks/{one.run.task_id}/messages?run=1").status_code == 200
