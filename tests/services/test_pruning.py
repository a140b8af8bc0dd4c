"""Snapshots that nothing names go, and the disk with them; what anything still offers stays and still works."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tasks_app.domain.errors import Conflict
from tasks_app.domain.statuses import TaskStatus
from tasks_app.execution import clean_start
from tasks_app.models import Run, Step, Task
from tasks_app.services import actions, bundles, checkpoints, forks, pruning, retention, rewinds, snapshot_store, snapshots
from tasks_app.services.retention import Rules
from tests.factories import ago
from tests.services import world
from tests.services.forking import Tried, tried

pytestmark = [pytest.mark.django_db, pytest.mark.files]
ME = "user:lead"
RULE = Rules(snapshots=30)


@pytest.fixture
def one(tmp_path: Path, settings: Any) -> Tried:
    """An attempt with files at steps 1 and 6, in a home where no other test has left snapshots of a team of that name."""
    settings.HOME = tmp_path / "home"
    return tried(tmp_path / "work")


def kept(one: Tried) -> set[str]:
    return bundles.commits(one.crew.team.slug)


def prune(one: Tried) -> pruning.Pruned:
    """As a day later: nothing is too young to go."""
    return pruning.prune(one.crew.team, grace_s=-5)


def finish_long_ago(one: Tried) -> None:
    Task.objects.filter(pk=one.run.task_id).update(status=TaskStatus.COMPLETED.value)
    Run.objects.filter(pk=one.run.pk).update(ended_at=ago(days=31))


def look(one: Tried) -> str:
    """Somebody looks at something: a snapshot that no row will name."""
    (one.folder / "look.bin").write_bytes(os.urandom(400_000))
    made = snapshots.take(one.crew.team.slug, str(one.folder))
    (one.folder / "look.bin").unlink()
    snapshots.take(one.crew.team.slug, str(one.folder))
    return made


def test_what_was_only_looked_at_goes_and_the_disk_is_free_again(one: Tried) -> None:
    stays = kept(one)
    before = pruning.disk(one.crew.team.slug)
    gone = look(one)
    full = pruning.disk(one.crew.team.slug)
    assert full - before > 390_000
    done = prune(one)
    assert gone not in kept(one)
    assert kept(one) <= stays
    assert done.snapshots >= 1
    assert pruning.disk(one.crew.team.slug) <= before
    assert done.freed == full - pruning.disk(one.crew.team.slug)


def test_what_is_young_stays_for_its_row_may_follow(one: Tried) -> None:
    made = look(one)
    assert pruning.prune(one.crew.team).snapshots == 0
    assert made in kept(one)


def test_a_rewind_a_fork_and_an_undo_that_are_offered_still_work_afterwards(one: Tried) -> None:
    look(one)
    prune(one)
    rewinds.rewind(one.run.pk, at=1, actor=ME)
    assert (one.folder / "a.txt").read_text() == "before"
    prune(one)
    rewinds.undo(one.crew.team.pk, actor=ME)
    assert (one.folder / "new" / "b.txt").read_text() == "b"
    prune(one)
    forks.fork(one.run.pk, at=2, files="then", actor=ME)
    assert (one.folder / "a.txt").read_text() == "before"


def test_a_restore_that_is_offered_still_works_and_its_files_go_with_the_checkpoint(one: Tried) -> None:
    (one.folder / "a.txt").write_text("saved")
    saved = checkpoints.save(one.crew.team.pk, name="here", by=ME)
    commit = saved.data["workspace"]
    (one.folder / "a.txt").write_text("later")
    look(one)
    prune(one)
    assert snapshots.holds(one.crew.team.slug, commit)
    checkpoints.delete(one.crew.team.pk, saved.pk, actor=ME)
    prune(one)
    assert not snapshots.holds(one.crew.team.slug, commit)


def test_files_that_a_restore_still_owes_stay(one: Tried) -> None:
    owed = look(one)
    one.crew.team.workspace_due = owed
    one.crew.team.save()
    prune(one)
    assert snapshots.holds(one.crew.team.slug, owed)


def test_an_old_attempt_of_a_finished_task_lets_its_files_go_and_offers_nothing_more(one: Tried) -> None:
    finish_long_ago(one)
    assert retention.due(RULE) == {"snapshots": 1}
    while retention.sweep(RULE):
        pass
    assert prune(one).snapshots >= 2
    assert kept(one) == set()
    assert Step.objects.filter(run=one.run, data__files__isnull=False).count() == 0
    assert "uuid" in Step.objects.get(run=one.run, seq=1).data
    for act in (lambda: rewinds.preview(one.run.pk, at=1), lambda: forks.fork(one.run.pk, at=2, files="then", actor=ME)):
        with pytest.raises(Conflict, match="CREWDESK_KEEP_SNAPSHOTS_DAYS"):
            act()
    assert (one.folder / "a.txt").read_text() == "after"


@pytest.mark.parametrize("why", ["young", "unfinished", "no rule"])
def test_the_files_of_an_attempt_stay_while_it_is_young_or_its_task_may_be_tried_again(one: Tried, why: str) -> None:
    finish_long_ago(one)
    if why == "young":
        Run.objects.filter(pk=one.run.pk).update(ended_at=ago(days=29))
    if why == "unfinished":
        Task.objects.filter(pk=one.run.task_id).update(status=TaskStatus.PENDING.value)
    before = kept(one)
    assert retention.sweep(Rules() if why == "no rule" else RULE) == 0
    prune(one)
    assert kept(one) == before


def test_a_clean_start_after_the_files_went_says_so_and_one_before_still_puts_back(one: Tried) -> None:
    Run.objects.filter(pk=one.run.pk).update(dossier={snapshots.END: snapshots.take(one.crew.team.slug, str(one.folder))})
    prune(one)
    finish_long_ago(one)
    retention.sweep(RULE)
    prune(one)
    actions.reopen(one.run.task_id, why="It broke.", actor=ME)
    actions.reassign(one.run.task_id, agent_id=one.crew.agents[1].pk, start="clean", actor=ME)
    again = Run.objects.get(task=one.run.task_id, attempt=2)
    assert "before attempt 1 is not kept any more" in clean_start.put_back(again)
    assert (one.folder / "a.txt").read_text() == "after"


def test_a_team_is_looked_at_once_a_day_and_when_nobody_works_there(one: Tried) -> None:
    slug = one.crew.team.slug
    assert pruning.sweep() is None, "its store is new"
    long_ago = time.time() - 2 * pruning.DAY_S
    os.utime(Path(pruning.root(slug)) / snapshot_store.STORE / "HEAD", (long_ago, long_ago))
    run = one.crew.claim()
    assert pruning.sweep() is None, "an attempt is open"
    Run.objects.filter(pk=run.id).update(status="failed")
    assert pruning.sweep() is not None
    assert pruning.sweep() is None


def test_a_snapshot_waits_while_git_packs_and_is_whole(one: Tried) -> None:
    for number in range(40):
        (one.folder / f"f{number}.txt").write_text(f"{number}\n" * 400)
    first = snapshots.take(one.crew.team.slug, str(one.folder))
    Step.objects.filter(run=one.run, seq=6).update(data={"uuid": "u6", "files": first})
    prune(one)
    for number in range(40):
        (one.folder / f"f{number}.txt").unlink()
    rewinds.rewind(one.run.pk, at=6, actor=ME)
    assert (one.folder / "f39.txt").read_text() == "39\n" * 400
    assert world.kinds(one.crew.team)[-1] == "files.rewound"
