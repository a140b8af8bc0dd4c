"""Bundles that are small and unpack to more than any disk: refused by name, at once, and nothing is left behind."""

import hashlib
import logging
import struct
import subprocess
import sys
import time
import zlib

import pytest

from tasks_app.domain.errors import Invalid
from tasks_app.models import Team
from tasks_app.services import bundles, snapshots, unpacked, workspaces
from tests.services.team_files import changed, export, full, load
from tests.services.test_nested import git
from tests.services.test_team_import import manifest, put

pytestmark = pytest.mark.files
NO_LIMIT = pytest.mark.skipif(sys.platform == "darwin", reason="a Mac limits no process's memory")
SNAPSHOTS, REPOSITORY = "workspace/snapshots.bundle", "workspace/repository.bundle"


class Maker:
    """A repository whose objects are written by hand."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        git(folder, "init", "-q", "--bare", ".")

    def object(self, kind, data):
        command = ["git", "-C", str(self.folder), "hash-object", "-t", kind, "-w", "--stdin", "--literally"]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode().strip()

    def tree(self, *entries):
        return self.object("tree", b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(what) for mode, name, what in entries))

    def commit(self, tree, *refs):
        made = git(self.folder, "commit-tree", tree, "-m", "x")
        for ref in refs or (snapshots.REFS + made,):
            git(self.folder, "update-ref", ref, made)
        return made

    def bundle(self, *what):
        git(self.folder, "bundle", "create", "-q", "out", *(what or ("--all",)))
        return (self.folder / "out").read_bytes()


@pytest.fixture
def maker(tmp_path, settings, monkeypatch):
    monkeypatch.setattr(unpacked, "DEEPEST", 60)
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir(mode=0o700)
    return Maker(tmp_path / "maker")


def wide(maker, size=2**20, folders=8, each=40):
    """Each folder holds one other forty times: 40^9 files of a megabyte in a few kilobytes."""
    tree = maker.tree(*(("100644", f"f{n:03}", maker.object("blob", b"x" * size)) for n in range(each)))
    for _ in range(folders):
        tree = maker.tree(*(("40000", f"d{n:03}", tree) for n in range(each)))
    return tree


def empty(maker):
    """Folders without a file: nothing to write, but git would look through them for ever."""
    tree = maker.tree()
    for _ in range(9):
        tree = maker.tree(*(("40000", f"d{n:03}", tree) for n in range(40)))
    return tree


def deep(maker):
    tree = maker.tree(("100644", "f", maker.object("blob", b"x")))
    for _ in range(unpacked.DEEPEST + 1):
        tree = maker.tree(("40000", "d", tree))
    return tree


def large(maker):
    """Some 43,000 times one megabyte: 42 GiB."""
    return wide(maker, folders=2, each=35)


BOMBS = [wide, empty, deep, large]


def put_back(maker, folder, head="", name="snapshots.bundle"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(maker.bundle())
    workspaces.root("copy").mkdir(parents=True, exist_ok=True)
    bundles.put_back("copy", folder, head=head, branch="")


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("named", [True, False])
def test_snapshots_that_unpack_to_too_much_are_refused_whether_or_not_they_are_the_last(maker, tmp_path, bomb, named):
    commit = maker.commit(bomb(maker))
    assert len(maker.bundle()) < 200_000
    began = time.monotonic()
    with pytest.raises(Invalid, match=f"{SNAPSHOTS}: Unpacked it would be far too large") as refused:
        put_back(maker, tmp_path / "in", head=commit if named else "")
    assert time.monotonic() - began < 30
    assert refused.value.field == "file"
    assert not any((workspaces.root("copy") / "work").iterdir())


def test_one_that_no_name_leads_to_is_refused_too(maker, tmp_path):
    """A row may name it all the same."""
    bomb = maker.commit(wide(maker), "refs/heads/bomb")
    made = git(maker.folder, "commit-tree", maker.tree(), "-p", bomb, "-m", "on top")
    git(maker.folder, "update-ref", "-d", "refs/heads/bomb")
    git(maker.folder, "update-ref", snapshots.REFS + made, made)
    with pytest.raises(Invalid, match=SNAPSHOTS):
        put_back(maker, tmp_path / "in")


@pytest.mark.parametrize("bomb", BOMBS[:3])
def test_a_repository_that_unpacks_to_too_much_is_refused(maker, tmp_path, bomb):
    maker.commit(bomb(maker), "refs/heads/main", "HEAD")
    with pytest.raises(Invalid, match=REPOSITORY):
        put_back(maker, tmp_path / "in", name="repository.bundle")


def test_what_is_larger_than_the_disk_is_refused_and_an_honest_one_is_counted_right(maker, tmp_path, monkeypatch):
    leaf = maker.tree(("100644", "a", maker.object("blob", b"x" * 1000)), ("120000", "l", maker.object("blob", b"a")))
    tree = maker.tree(("100755", "b", maker.object("blob", b"y" * 10)), ("40000", "c", leaf), ("40000", "d", leaf))
    commit = maker.commit(maker.tree(("40000", "e", tree), ("160000", "g", "1" * 40)))
    unpacked.check(maker.folder, commit, SNAPSHOTS, most=2012)
    with pytest.raises(Invalid):
        unpacked.check(maker.folder, commit, SNAPSHOTS, most=2011)
    monkeypatch.setattr(unpacked, "MOST_ENTRIES", 9)
    unpacked.check_all(maker.folder, SNAPSHOTS)
    monkeypatch.setattr(unpacked, "DEEPEST", 2)
    with pytest.raises(Invalid):
        unpacked.check_all(maker.folder, SNAPSHOTS)


def test_one_of_many_files_is_asked_for_in_parts(maker):
    files = [("100644", f"{n:06}", maker.object("blob", str(n).encode())) for n in range(unpacked.ASKED * 3 + 1)]
    unpacked.check(maker.folder, maker.commit(maker.tree(*files)), SNAPSHOTS, most=sum(len(str(n)) for n in range(len(files))))


def test_more_folders_than_an_honest_bundle_has_are_not_read(maker, monkeypatch):
    maker.commit(maker.tree(("100644", "f", maker.object("blob", b"x"))))
    monkeypatch.setattr(unpacked, "MOST_READ", 10)
    with pytest.raises(Invalid):
        unpacked.check_all(maker.folder, SNAPSHOTS)


def pack_of(*objects):
    """A pack with these (type, size, content): what it says of sizes need not be so."""
    pack = b"PACK" + struct.pack(">II", 2, len(objects))
    for kind, size, content in objects:
        head, size = (kind << 4) | (size & 15), size >> 4
        while size:
            pack, head, size = pack + bytes([head | 0x80]), size & 0x7F, size >> 7
        pack += bytes([head]) + content
    return pack + hashlib.sha1(pack, usedforsecurity=False).digest()


def varint(number):
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


@NO_LIMIT
def test_a_pack_that_asks_for_more_memory_than_there_is_is_refused(maker, tmp_path):
    """300 bytes: a difference that says "the first 64 KiB of the other, 131,072 times"."""
    base, times = b"x" * 2**16, 2**17
    other = hashlib.sha1(b"blob 65536\0" + base, usedforsecurity=False).digest()
    delta = varint(len(base)) + varint(len(base) * times) + b"\x80" * times
    commit = maker.commit(maker.tree())
    pack = pack_of((3, len(base), zlib.compress(base)), (7, len(delta), other + zlib.compress(delta, 9)))
    (tmp_path / "in").mkdir()
    workspaces.root("copy").mkdir(parents=True)
    head = f"# v2 git bundle\n{commit} {snapshots.REFS}{commit}\n\n".encode()
    (tmp_path / "in" / "snapshots.bundle").write_bytes(head + pack)
    with pytest.raises(Invalid, match=rf"{SNAPSHOTS}: git does not take it: .*(emory|git)"):
        bundles.put_back("copy", tmp_path / "in", head=commit, branch="")


@NO_LIMIT
def test_git_on_what_anybody_made_has_a_limit_of_memory(tmp_path, settings, monkeypatch):
    settings.HOME = tmp_path
    (tmp_path / "git").write_text('#!/bin/sh\nulimit -v; echo "$@"\n')
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    told = workspaces.run_git(["git", "log", "a b"], limited=True).stdout.splitlines()
    assert told == [str(workspaces.MOST_MEMORY_KIB), f"{' '.join(workspaces.FRUGAL)} log a b"]


def of_another_name(maker, commit):
    git(maker.folder, "update-ref", snapshots.REFS + "0" * 40, commit)


def of_a_tag(maker, commit):
    git(maker.folder, "tag", "-a", "v1", "-m", "v1", commit)
    git(maker.folder, "update-ref", snapshots.REFS + "v1", git(maker.folder, "rev-parse", "v1"))


def of_a_file(maker, commit):
    blob = maker.object("blob", b"x")
    git(maker.folder, "update-ref", snapshots.REFS + blob, blob)


def of_a_name_in_two_lines(maker, commit):
    git(maker.folder, "update-ref", snapshots.REFS + "a\u2028b", commit)


@pytest.mark.parametrize("odd", [of_another_name, of_a_tag, of_a_file, of_a_name_in_two_lines])
def test_a_name_that_leads_to_no_snapshot_is_refused(maker, tmp_path, odd):
    commit = maker.commit(maker.tree(("100644", "f", maker.object("blob", b"x"))))
    put_back(maker, tmp_path / "in", head=commit)
    odd(maker, commit)
    with pytest.raises(Invalid, match=SNAPSHOTS):
        put_back(maker, tmp_path / "in", head=commit)


def test_a_last_snapshot_that_the_bundle_does_not_name_is_refused(maker, tmp_path):
    maker.commit(maker.tree(("100644", "f", maker.object("blob", b"x"))))
    with pytest.raises(Invalid, match=SNAPSHOTS):
        put_back(maker, tmp_path / "in", head="1" * 40)


def test_where_git_is_gone_it_is_said(maker, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Invalid, match=SNAPSHOTS):
        unpacked.check_all(maker.folder, SNAPSHOTS)


def test_what_could_not_be_put_back_is_left_out_and_said(maker, tmp_path, monkeypatch, caplog):
    """An agent that makes such a workspace or repository does not keep the backups of all teams from being made."""
    work = tmp_path / "project"
    (work / "a" / "b").mkdir(parents=True)
    (work / "a" / "b" / "c").write_text("x")
    git(work, "init", "-q", "-b", "main")
    maker.commit(wide(maker), "refs/heads/main")
    git(work, "fetch", "-q", str(maker.folder), "main:main", "--update-head-ok")
    with caplog.at_level(logging.WARNING):
        head, members = bundles.keep("atlas", str(work), tmp_path)
    assert (len(head), members) == (40, [SNAPSHOTS])
    assert "the repository of" in caplog.text
    monkeypatch.setattr(unpacked, "DEEPEST", 2)
    with caplog.at_level(logging.WARNING):
        assert bundles.keep("atlas", str(work), tmp_path) == ("", [])
    assert "the files of atlas are left out" in caplog.text


def test_no_file_that_an_agent_may_write_keeps_a_team_from_coming_back(maker, tmp_path):
    work = tmp_path / "project"
    (work / "inner").mkdir(parents=True)
    for folder in (work, work / "inner"):
        (folder / ".gitmodules").write_text('[submodule "../x"]\npath = -x\nurl = -u./payload\nupdate = !touch x\n')
        (folder / ".gitattributes").write_text("* " + "x" * 5000)
    (tmp_path / "in").mkdir()
    head, _ = bundles.keep("atlas", str(work), tmp_path / "in")
    workspaces.root("copy").mkdir(parents=True)
    bundles.put_back("copy", tmp_path / "in", head=head, branch="")
    assert (workspaces.root("copy") / "work" / "inner" / ".gitmodules").exists()


@pytest.mark.django_db
def test_a_team_with_such_a_bundle_is_not_made(maker, tmp_path):
    work = tmp_path / "project"
    work.mkdir()
    (work / "a.py").write_text("a = 1\n")
    crew = full(workspace=str(work), name="Atlas", slug="atlas")
    commit = maker.commit(wide(maker))
    bomb = changed(changed(export(crew.team), put(SNAPSHOTS, maker.bundle())), manifest(head=commit))
    with pytest.raises(Invalid, match=SNAPSHOTS):
        load(bomb, "Copy")
    assert Team.objects.count() == 1
    assert not workspaces.root("copy").exists()
