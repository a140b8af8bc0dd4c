"""What is looked at before a workspace is exported, and when: nobody waits for a snapshot meanwhile."""

import pytest

from tasks_app.domain.errors import Invalid
from tasks_app.services import bundles, snapshot_store, unpacked
from tests.services.test_nested import take

pytestmark = pytest.mark.files
SNAPSHOTS = "workspace/snapshots.bundle"


@pytest.fixture
def read(work, monkeypatch):
    """Of each tree that is read: whether the snapshots are locked meanwhile."""
    found = []
    tree = unpacked._Objects.tree

    def noted(self, name):
        found.append(snapshot_store.in_use("atlas"))
        return tree(self, name)

    monkeypatch.setattr(unpacked._Objects, "tree", noted)
    for number in range(3):
        (work / "a.py").write_text(f"a = {number}\n")
        take(work)
    return found


def before_the_lock(monkeypatch, act):
    """Let something happen when all has been looked at and the snapshots are not locked yet."""
    check_all = unpacked.check_all
    looked = []

    def look(store, member, seen):
        looked.append(member)
        if len(looked) == 2:
            act()
        check_all(store, member, seen)

    monkeypatch.setattr(unpacked, "check_all", look)


def test_nobody_waits_while_all_that_was_ever_kept_is_looked_at(work, tmp_path, read):
    assert bundles.keep("atlas", str(work), tmp_path)[1] == [SNAPSHOTS]
    assert read == [False] * 3


def test_what_has_come_meanwhile_is_looked_at_too(work, tmp_path, read, monkeypatch):
    def another():
        (work / "b").mkdir()
        (work / "b" / "c").write_text("c")
        take(work)

    before_the_lock(monkeypatch, another)
    assert bundles.keep("atlas", str(work), tmp_path)[1] == [SNAPSHOTS]
    assert read == [False] * 3 + [True] * 2


def test_so_what_has_come_meanwhile_and_is_too_much_is_left_out(work, tmp_path, monkeypatch):
    monkeypatch.setattr(unpacked, "DEEPEST", 1)

    def deeper():
        (work / "b").mkdir()
        (work / "b" / "c").write_text("c")
        take(work)

    before_the_lock(monkeypatch, deeper)
    assert bundles.keep("atlas", str(work), tmp_path) == ("", [])


def test_what_was_removed_under_the_look_leaves_nothing_out(work, tmp_path, read, monkeypatch):
    """As where somebody prunes at that moment."""
    check_all = unpacked.check_all

    def once(store, member, seen):
        monkeypatch.setattr(unpacked, "check_all", check_all)
        raise Invalid("It is damaged.")

    monkeypatch.setattr(unpacked, "check_all", once)
    assert bundles.keep("atlas", str(work), tmp_path)[1] == [SNAPSHOTS]
    assert read == [True] * 3


def test_sizes_that_are_listed_are_not_asked_for(work, read, monkeypatch):
    asked = unpacked._asked
    names = []
    monkeypatch.setattr(unpacked, "_asked", lambda process, some: names.extend(some) or asked(process, some))
    unpacked.check_all(snapshot_store.root("atlas") / snapshot_store.STORE, SNAPSHOTS)
    assert len(names) == len(read) == 3, "the trees, and no file"
