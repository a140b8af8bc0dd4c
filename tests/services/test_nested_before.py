"""Snapshots of older versions: they name a repository inside the workspace, and do not hold its files."""

import os
import time

import pytest

from tasks_app.services import last_snapshot, nested, snapshot_store, snapshots
from tasks_app.services.workspaces import run_git
from tests.services.test_nested import EVIL, files, mark, names, repository, take

__all__ = ["mark"]
pytestmark = pytest.mark.files


def take_as_before(work):
    """A snapshot as older versions took it, and what they remembered of it."""
    with snapshot_store.store_of("atlas") as store:
        git = snapshots._git(store, work)
        assert run_git([*git, "add", "-A", "--", "."]).returncode == 0
        tree = snapshots._write_tree(git)
        name = snapshots._commit(git, tree)
        (store / last_snapshot.OLD).write_text(f"{name} {tree} {time.time()} {last_snapshot.index(store)}")
    assert "160000" in files(name)
    return name


@pytest.fixture
def old(work):
    """A workspace of which an older version has made a snapshot; what it holds is changed since."""
    repository(work / "inner")
    (work / "inner" / "deep").mkdir()
    (work / "inner" / "deep" / "g").write_text("g\n")
    (work / "inner.txt").write_text("1")
    made = take_as_before(work)
    (work / "a.py").write_text("a = 2\n")
    (work / "inner.txt").unlink()
    (work / "new").write_text("new")
    return made


def all_there(work):
    """The repository is whole, its files too."""
    assert (work / "inner" / "f").read_text() == "f\n"
    assert (work / "inner" / "deep" / "g").read_text() == "g\n"
    assert (work / "inner" / ".git" / "HEAD").exists()


def rewind(work, old):
    now = take(work)
    seen = snapshots.changed("atlas", now, old)
    assert sorted(seen) == [("A", "inner.txt"), ("D", "new"), ("M", "a.py")]
    assert snapshots.rewind("atlas", str(work), now, old) == len(seen)


def restore(work, old):
    wanted = ["inner/f", "inner/deep/g", "inner", "a.py", "inner.txt", "new"]
    assert snapshots.restore("atlas", str(work), old, wanted) == ["a.py", "inner.txt", "new"]


def put_back(work, old):
    told = sorted(snapshots.changes("atlas", str(work), old))
    assert told == [("back", "inner.txt"), ("changed", "a.py"), ("removed", "new")]
    assert snapshots.put_back("atlas", str(work), due=lambda: old, done=lambda _: None)


def some(work, old):
    wanted = ["inner/f", "inner/deep/g", "inner", "a.py", "inner.txt", "new"]
    made = snapshots.mixed("atlas", take(work), old, str(work), wanted)
    assert {"inner/f", "inner/deep/g"} < set(names(made))
    assert snapshots.put_back("atlas", str(work), due=lambda: made, done=lambda _: None)


@pytest.mark.parametrize("go_back", [rewind, restore, put_back, some])
def test_going_back_to_one_leaves_the_repository_inside_alone(work, old, go_back):
    go_back(work, old)
    all_there(work)
    assert (work / "a.py").read_text() == "a = 1\n"
    assert (work / "inner.txt").read_text() == "1"
    assert not (work / "new").exists()
    assert names(take(work)) == ["a.py", "inner.txt", "inner/deep/g", "inner/f"]


@pytest.mark.parametrize("more", [[], ["new"]], ids=["nothing else", "something else"])
def test_a_file_in_the_place_of_the_repository_is_left_alone_by_a_rewind_whatever_else_has_changed(work, more):
    repository(work / "inner")
    before = take_as_before(work)
    (work / "inner").rename(work.parent / "inner")
    for name in ["inner", *more]:
        (work / name).write_text("mine")
    now = take(work)
    assert snapshots.changed("atlas", now, before) == [("D", name) for name in more]
    snapshots.rewind("atlas", str(work), now, before)
    assert (work / "inner").read_text() == "mine"


@pytest.mark.parametrize("go_back", ["rewind", "restore", "put_back", "changes", "mixed"])
def test_where_git_cannot_say_what_it_names_nothing_is_done(work, old, monkeypatch, go_back):
    now = take(work)

    def fails(command, **more):
        return run_git(["false"] if "ls-tree" in command else command, **more)

    for module in (nested, snapshots):
        monkeypatch.setattr(module, "run_git", fails)
    if go_back == "restore":
        assert snapshots.restore("atlas", str(work), old, ["a.py", "new", "inner/f"]) == []
    elif go_back == "put_back":
        assert not snapshots.put_back("atlas", str(work), due=lambda: old, done=lambda _: None)
    elif go_back == "mixed":
        assert snapshots.mixed("atlas", now, old, str(work), ["a.py", "new", "inner/f"]) == ""
    else:
        given = ("atlas", str(work), now, old) if go_back == "rewind" else ("atlas", str(work), old)
        with pytest.raises(snapshots.Conflict):
            getattr(snapshots, go_back)(*given)
    all_there(work)
    assert (work / "new").exists()
    assert (work / "a.py").read_text() == "a = 2\n"


def test_what_an_older_version_remembers_does_not_let_git_enter_the_repository(work, mark):
    """It says that nothing has changed since, of an index that knows the repository as one."""
    repository(work / "inner")
    for path in work.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    old = take_as_before(work)
    with (work / "inner" / ".git" / "config").open("a") as config:
        config.write(EVIL.format(mark=mark, folder=work / "inner" / ".git" / "hooks"))
    (work / "inner" / "f").write_text("changed\n")
    new = take(work)
    assert not mark.exists()
    assert new != old
    assert names(new) == ["a.py", "inner/f"]
    with snapshot_store.store_of("atlas") as store:
        last_snapshot.forget(store)
        assert not list(store.glob("last-snapshot*"))
