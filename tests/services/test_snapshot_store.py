"""One at a time works with a team's snapshots, and a git that was killed over them keeps no later one from them."""

import os
import signal
import subprocess

import pytest

from tasks_app.domain.errors import Unavailable
from tasks_app.models import Team
from tasks_app.services import nested, pruning, restores, snapshot_store, snapshots, workspaces
from tests.services import world
from tests.services_fixtures import until

pytestmark = pytest.mark.files
LEFT = (
    "index.lock",
    "HEAD.lock",
    "config.lock",
    "packed-refs.lock",
    "packed-refs.new",
    "gc.pid.lock",
    "objects/info/commit-graph.lock",
)
HALF = {
    "nothing": (),
    "a name": ("HEAD.lock",),
    "no settings": ("HEAD",),
    "half its settings": ("HEAD", "config.lock"),
    "no objects": ("HEAD", "config"),
    "a folder for objects": ("HEAD", "config", "objects"),
}


def take(work):
    return snapshots.take("atlas", str(work))


def store():
    return workspaces.root("atlas") / snapshot_store.STORE


@pytest.mark.django_db
@pytest.mark.parametrize("name", [*LEFT, "refs/snapshots/{first}.lock"])
def test_what_a_killed_git_left_keeps_nobody_from_the_snapshots(work, name):
    team = world.make(slug="atlas").team
    first = take(work)
    (work / "a.py").write_text("a = 2\n")
    (store() / name.format(first=first)).write_text("")
    second = take(work)
    assert snapshots.holds("atlas", second)
    assert second != first
    (store() / name.format(first=first)).write_text("")
    assert pruning.prune(team, grace_s=-60).snapshots == 2
    assert not snapshots.holds("atlas", first)


def test_what_it_left_is_gone_before_the_next_even_while_the_snapshots_stay_locked(work, monkeypatch):
    def killed(command, **more):
        if "add" not in command:
            return workspaces.run_git(command, **more)
        (store() / "index.lock").write_text("")
        return subprocess.CompletedProcess(command, -signal.SIGKILL, "", "")

    with snapshot_store.store_of("atlas"):
        with monkeypatch.context() as deadly:
            deadly.setattr(nested, "run_git", killed)
            assert take(work) == ""
        assert take(work)


@pytest.mark.django_db(transaction=True)
def test_a_restore_over_which_git_took_too_long_is_finished_by_the_sweep(work, monkeypatch):
    def killed(command, **more):
        if "read-tree" not in command:
            return workspaces.run_git(command, **more)
        (store() / "index.lock").write_text("")
        return subprocess.CompletedProcess(command, nested.TOO_LONG, "", "it took longer than 120 s")

    team = world.workspace(world.make(slug="atlas").team, work)
    Team.objects.update(workspace_due=take(work))
    (work / "a.py").write_text("a = 2\n")
    with monkeypatch.context() as slow:
        slow.setattr(snapshots, "run_git", killed)
        with pytest.raises(Unavailable, match="tried again until it works"):
            restores.finish(team.pk)
    assert restores.finish_due() == 1
    assert ((work / "a.py").read_text(), Team.objects.get().workspace_due) == ("a = 1\n", "")


@pytest.mark.parametrize("stage", HALF)
def test_a_repository_that_was_not_made_to_its_end_is_made(work, stage):
    made = store()
    made.mkdir(parents=True)
    for name in HALF[stage]:
        (made / name).mkdir() if name == "objects" else (made / name).write_text("")
    if "HEAD" in HALF[stage]:
        (made / "HEAD").write_text("ref: refs/heads/master\n")
    assert not snapshot_store.is_whole("atlas")
    assert take(work)
    assert snapshot_store.is_whole("atlas")


@pytest.mark.django_db
def test_a_team_whose_repository_was_not_made_keeps_no_other_from_being_pruned(work):
    for slug in ("atlas", "borealis"):
        world.make(slug=slug)
    store().mkdir(parents=True)
    snapshots.take("borealis", str(work))
    head = workspaces.root("borealis") / snapshot_store.STORE / "HEAD"
    os.utime(head, (1_700_000_000, 1_700_000_000))
    assert pruning.sweep() is not None


def test_while_a_git_lives_that_nobody_waits_for_the_snapshots_stay_locked(work):
    """As after a worker that was killed: its git goes on for a while, and its files are no leftovers."""
    with snapshot_store.store_of("atlas"):
        said = workspaces.run_git(["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"]).stdout
    try:
        assert snapshot_store.in_use("atlas")
    finally:
        os.kill(int(said), signal.SIGKILL)
    until(lambda: not snapshot_store.in_use("atlas"))
    assert take(work)


@pytest.mark.parametrize("there", [True, False])
def test_why_git_failed_is_in_the_log_and_that_it_is_not_there_is_not_called_a_fault(work, monkeypatch, caplog, there):
    with monkeypatch.context() as away:
        away.setattr(workspaces, "has_git", lambda: there)
        assert snapshots.take("atlas", str(work / "gone")) == ""
        assert workspaces.why_not() == ("git could not do it (the log says why)" if there else "git is not installed")
    assert ("cannot change to" in caplog.text) is there
