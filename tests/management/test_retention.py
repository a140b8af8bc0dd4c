"""`manage.py retention`: counted or removed, rows only where a rule is set, snapshots with none at all."""

import time
from types import SimpleNamespace

import pytest

from tasks_app.models import Run, Step, Task
from tasks_app.services import bundles, pruning
from tests import factories as make
from tests.factories import ago
from tests.management.commands import run, run_json
from tests.services.forking import tried

pytestmark = pytest.mark.django_db


@pytest.fixture
def old_steps(settings):
    settings.KEEP_STEPS_DAYS = 30
    attempt = make.RunFactory(ended=True, ended_at=ago(days=31))
    return [make.StepFactory(run=attempt), make.StepFactory(run=attempt)]


def test_a_dry_run_counts_and_removes_nothing(old_steps):
    code, out, _ = run("retention", "--dry-run")
    lines = ["steps: 2 rows older than 30 days would be removed", "files: 0 snapshots that nothing names would be removed"]
    assert (code, out.splitlines()) == (0, lines)
    assert Step.objects.count() == 2


def test_now_removes_what_was_counted(old_steps):
    none = {"snapshots": 0, "freed": 0}
    assert run_json("retention", "--now") == (0, {"removed": {"steps": 2}, "files": none})
    assert run_json("retention", "--now") == (0, {"removed": {"steps": 0}, "files": none})
    assert Step.objects.count() == 0


@pytest.mark.files
def test_without_a_rule_it_says_which_can_be_set_and_snapshots_that_nothing_names_go(tmp_path, monkeypatch):
    one = tried(tmp_path / "work")
    Run.objects.update(workspace_commit="", dossier={})
    Step.objects.all().delete()
    Task.objects.update(status="completed")
    monkeypatch.setattr(pruning, "time", SimpleNamespace(time=lambda: time.time() + 2 * pruning.DAY_S))
    code, out, err = run("retention", "--dry-run")
    said, files = out.splitlines()
    assert (code, err, "CREWDESK_KEEP_STEPS_DAYS" in said) == (0, "", True)
    assert files == "files: 2 snapshots that nothing names would be removed"
    assert "files: 2 snapshots that nothing names removed" in run("retention", "--now")[1]
    assert bundles.commits(one.crew.team.slug) == set()
    assert run_json("retention", "--now") == (0, {"removed": {}, "files": {"snapshots": 0, "freed": 0}})


@pytest.mark.files
def test_snapshots_are_let_go_of_and_removed_and_the_disk_that_it_gave_is_said(settings, tmp_path, monkeypatch):
    settings.KEEP_SNAPSHOTS_DAYS = 30
    one = tried(tmp_path / "work")
    Task.objects.update(status="completed")
    Run.objects.update(ended_at=ago(days=31))
    monkeypatch.setattr(pruning, "time", SimpleNamespace(time=lambda: time.time() + 2 * pruning.DAY_S))
    _, out, _ = run("retention", "--dry-run")
    assert "1 finished attempts older than 30 days would let go of their files\nfiles: 0 snapshots" in out
    _, out, _ = run("retention", "--now")
    assert "files: 2 snapshots that nothing names removed" in out
    assert bundles.commits(one.crew.team.slug) == set()
