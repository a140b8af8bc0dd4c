"""Temporary files of workers: those of the dead are removed, those of the living and of other hosts are not."""

import asyncio
import os
import tempfile
from pathlib import Path

import pytest

from tasks_app.domain.leases import CRASHES
from tasks_app.domain.statuses import Reason
from tasks_app.execution import scratch
from tasks_app.models import Run
from tasks_app.services import recovery, runs, workers

HOST = "here"


@pytest.fixture
def home(tmp_path: Path, settings, monkeypatch) -> Path:
    settings.HOME = tmp_path
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


@pytest.fixture
def me(home) -> str:
    name = workers.name_of_this_process(HOST)
    scratch.use(name)
    return name


def test_a_worker_has_a_folder_of_its_own_until_it_leaves(home, me):
    made = Path(tempfile.mkdtemp(prefix="claude-resume-"))
    assert made.parent == home / "tmp" / me
    scratch.sweep(HOST)
    assert made.exists()
    asyncio.run(scratch.leave(me, HOST))
    assert not made.exists()


@pytest.mark.parametrize("name", ["here:{pid}:1", "here:999999999:5", "claude-resume-abc"])
def test_what_a_killed_worker_has_left_is_removed_by_the_next_sweep(home, me, name):
    left = home / "tmp" / name.format(pid=os.getpid()) / "claude-resume-1"
    left.mkdir(parents=True)
    scratch.sweep(HOST)
    assert not left.exists()


def test_the_last_worker_that_leaves_takes_with_it_what_a_killed_one_has_left_a_moment_before(home, me):
    left = home / "tmp" / "here:999999999:5"
    left.mkdir(parents=True)
    asyncio.run(scratch.leave(me, HOST))
    assert list((home / "tmp").iterdir()) == []


def test_whether_a_worker_of_another_host_lives_cannot_be_told_so_its_files_stay(home, me):
    left = home / "tmp" / "there:1:1"
    left.mkdir()
    scratch.sweep(HOST)
    assert left.exists()


def test_of_the_private_folders_of_runs_only_those_of_lives_under_way_stay(home, me, crew):
    held = crew.claim()
    names = [f"{held.id}-{held.fence}", f"{held.id}-{held.fence - 1}", "a1-1"]
    folders = [home / "runs" / name for name in names]
    for folder in folders:
        (folder / ".claude").mkdir(parents=True)
    scratch.sweep(HOST)
    assert [folder.exists() for folder in folders] == [True, False, False]


@pytest.mark.parametrize("end", ["lost too often", "parked"])
def test_the_folder_of_a_killed_worker_goes_with_the_last_that_looks(home, me, crew, database_threads, end):
    """A run that is failed when its worker is lost has no next life that could remove it: it held a copy of the credentials."""
    held = crew.claim()
    folder = home / "runs" / f"{held.id}-{held.fence}"
    (folder / ".claude").mkdir(parents=True)
    if end == "parked":
        runs.park(held.id, held.fence, reason=Reason.INTERRUPTED, interrupted=True)
    else:
        Run.objects.filter(pk=held.id).update(crashes=CRASHES - 1, lease_until=1)
        assert recovery.take_back_expired() == 1
        assert Run.objects.get(pk=held.id).status == "failed"
    asyncio.run(scratch.leave(me, HOST))
    assert not folder.exists()


def test_a_folder_that_another_is_emptying_at_that_moment_does_not_stay(home, monkeypatch):
    me = "here:1:100"
    scratch.use(me)
    real, tries = scratch.shutil.rmtree, []

    def meets_another(folder, **options):
        tries.append(folder)
        if len(tries) > 2:
            real(folder, **options)

    monkeypatch.setattr(scratch.shutil, "rmtree", meets_another)
    asyncio.run(scratch.leave(me, HOST))
    assert not (home / "tmp" / me).exists()
