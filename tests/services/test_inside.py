"""Files are removed in the workspace only, whatever an agent has put on the way there."""

import os

import pytest

from tasks_app.services import inside, snapshots
from tests.services.test_nested import take

pytestmark = pytest.mark.files


@pytest.fixture
def work(tmp_path, settings):
    settings.HOME = tmp_path / "home"
    (tmp_path / "work" / "x" / "y").mkdir(parents=True)
    return tmp_path / "work"


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "outside" / "y").mkdir(parents=True)
    (tmp_path / "outside" / "y" / "f").write_text("mine")
    return tmp_path / "outside"


def swapped(work, outside):
    (work / "x").rename(work.parent / os.urandom(4).hex())
    (work / "x").symlink_to(outside)


@pytest.mark.parametrize("act", ["rewind", "restore"])
def test_a_link_put_in_a_folder_s_place_leads_to_no_removal_elsewhere(work, outside, monkeypatch, act):
    first = take(work)
    (work / "x" / "y" / "f").write_text("new")
    second = take(work)
    if act == "rewind":
        swapped(work, outside)
        snapshots.rewind("atlas", str(work), second, first)
    else:
        within = snapshots.within
        monkeypatch.setattr(snapshots, "within", lambda *words: (within(*words), swapped(work, outside))[0])
        assert snapshots.restore("atlas", str(work), first, ["x/y/f"]) == []
    assert (outside / "y" / "f").read_text() == "mine"


def test_folders_that_are_left_empty_go_and_others_stay(work):
    (work / "x" / "y" / "f").write_text("f")
    (work / "x" / "kept").write_text("f")
    assert inside.remove(work, "x/y/f", folders=True)
    assert (work / "x" / "kept").exists()
    assert not (work / "x" / "y").exists()
    assert inside.remove(work, "x/kept")
    assert (work / "x").is_dir()


def test_what_is_not_there_or_is_a_folder_is_not_removed_and_a_link_is_itself(work, outside):
    (work / "l").symlink_to(outside)
    (work / "f").write_text("f")
    for name in ("none", "x/none", "none/f", "x", "f/g", "l/y/f"):
        assert not inside.remove(work, name, folders=True), name
    assert not inside.remove(work / "gone", "f")
    assert inside.remove(work, "l")
    assert (outside / "y" / "f").exists()
    assert not (work / "l").is_symlink()
