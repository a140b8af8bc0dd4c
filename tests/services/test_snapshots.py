"""A snapshot of what has not changed is the one before it; every change makes a new one, also one that looks like none."""

import os
import sys
import time
from pathlib import Path

import pytest

from tasks_app.domain.text import clean
from tasks_app.execution import clean_start
from tasks_app.services import differences, last_snapshot, nested, pruning, snapshot_store, snapshots
from tasks_app.services.workspaces import run_git
from tests.services import world

pytestmark = pytest.mark.files
NO_TEXT = pytest.param(
    os.fsdecode(b"a\xffb"), marks=pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has no such names")
)


def take(work):
    return snapshots.take("atlas", str(work))


def a_while_ago(work):
    """Git trusts the time of a file only when it is older, in seconds, than its index."""
    for path in work.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))


def same_length(work):
    (work / "a.py").write_text("a = 2\n")


def same_length_and_time(work):
    before = (work / "a.py").stat()
    (work / "a.py").write_text("a = 2\n")
    os.utime(work / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))


def executable(work):
    (work / "a.py").chmod(0o755)


def another(work):
    (work / "empty").write_text("")


def removed(work):
    (work / "a.py").unlink()


def link(work):
    (work / "a.py").unlink()
    (work / "a.py").symlink_to("b.py")


@pytest.mark.parametrize("change", [same_length, same_length_and_time, executable, another, removed, link])
def test_a_change_makes_a_new_snapshot_and_nothing_changed_makes_none(work, change):
    first = take(work)
    assert take(work) == first
    change(work)
    second = take(work)
    assert second != first
    assert snapshots.tree("atlas", second) != snapshots.tree("atlas", first)
    assert take(work) == second


def test_an_empty_folder_is_kept_too(tmp_path, settings):
    settings.HOME = tmp_path / "home"
    (tmp_path / "work").mkdir()
    first = take(tmp_path / "work")
    assert len(first) == 40
    assert take(tmp_path / "work") == first
    same_length(tmp_path / "work")
    assert take(tmp_path / "work") != first


def test_git_is_called_once_when_nothing_has_changed(work, monkeypatch):
    a_while_ago(work)
    take(work)
    called = []
    for module in (nested, snapshots):
        monkeypatch.setattr(module, "run_git", lambda command, **more: called.append(command) or run_git(command, **more))
    take(work)
    assert [command[-4:] for command in called] == [["add", "-A", "--", "."]]


def test_what_else_writes_the_index_makes_the_next_one_new_and_right(work):
    first = take(work)
    same_length(work)
    second = take(work)
    snapshots.mixed("atlas", second, first, str(work), ["a.py"])
    assert snapshots.tree("atlas", take(work)) == snapshots.tree("atlas", second)
    snapshots.put_back("atlas", str(work), due=lambda: first, done=lambda _: None)
    assert snapshots.tree("atlas", take(work)) == snapshots.tree("atlas", first)
    same_length(work)
    assert snapshots.changes("atlas", str(work), first) == [("changed", "a.py")]
    assert snapshots.tree("atlas", take(work)) == snapshots.tree("atlas", second)


def test_another_folder_of_the_same_team_is_not_taken_for_the_first(work, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    first = take(work)
    (other / "a.py").write_text("a = 1\n")
    (other / "b.py").write_text("b = 1\n")
    assert take(other) != first


def test_an_old_one_is_not_given_again(work, monkeypatch):
    later = time.time() + last_snapshot.REUSED_S + 1
    first = take(work)
    monkeypatch.setattr(time, "time", lambda: later)
    monkeypatch.setattr(snapshots, "IDENTITY", (*snapshots.IDENTITY[:1], "user.name=Later", *snapshots.IDENTITY[2:]))
    second = take(work)
    assert second != first
    assert take(work) == second
    assert last_snapshot.REUSED_S * 2 < pruning.GRACE_S, "a snapshot that is given again is named by a row long before it may go"


def test_one_that_could_not_be_named_is_none_and_the_next_is_made_anew(work, monkeypatch):
    """Its objects would go with the next pruning: nothing may speak of it."""

    def fails(command, **more):
        return run_git(["false"] if "update-ref" in command else command, **more)

    with monkeypatch.context() as broken:
        broken.setattr(snapshots, "run_git", fails)
        assert take(work) == ""
    assert snapshots.holds("atlas", take(work))


def test_what_was_half_written_when_it_was_killed_is_as_if_it_were_not_there(work):
    take(work)
    mark = Path(snapshot_store.root("atlas"), snapshot_store.STORE, last_snapshot.NAME)
    for half in ("", "0123", mark.read_text()[:-4]):
        mark.write_text(half)
        assert snapshots.holds("atlas", take(work))


@pytest.mark.django_db
def test_after_pruning_the_next_is_one_that_is_there(work):
    team = world.make(slug="atlas").team
    take(work)
    pruning.prune(team, grace_s=-60)
    assert snapshots.holds("atlas", take(work))


@pytest.mark.parametrize("name", ["Icon\r", "a\r\nb", "a\rb", "a\u2028b", NO_TEXT])
def test_a_file_goes_back_whatever_it_is_called(work, name):
    """A Mac calls the picture of a folder so."""
    first = take(work)
    (work / name).write_text("1")
    second = take(work)
    (work / name).write_text("2")
    third = take(work)
    assert differences.differing("atlas", second, third) == {name}
    assert snapshots.changes("atlas", str(work), second) == [("changed", clean(name))]
    snapshots.rewind("atlas", str(work), third, second)
    assert (work / name).read_text() == "1"
    assert snapshots.restore("atlas", str(work), third, [name]) == [name]
    assert (work / name).read_text() == "2"
    assert snapshots.restore("atlas", str(work), first, [name]) == [name]
    assert not (work / name).exists()
    made = snapshots.mixed("atlas", first, second, str(work), [name])
    assert snapshots.changed("atlas", first, made) == [("A", name)]


@pytest.mark.parametrize("name", [NO_TEXT])
def test_a_name_that_no_database_takes_is_shown_as_one_that_it_does(work, name):
    first = take(work)
    (work / name).write_text("1")
    assert differences.diff("atlas", first, take(work))["files"] == ["a\ufffdb"]
    assert clean_start._listed([name]) == "a\ufffdb"
