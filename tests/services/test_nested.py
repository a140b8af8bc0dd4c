"""A repository inside a workspace: its files are kept like all others, and no command that its configuration names is run."""

import os
import subprocess
from pathlib import Path

import pytest

from tasks_app.services import differences, nested, snapshot_store, snapshots
from tasks_app.services.workspaces import run_git

pytestmark = pytest.mark.files

EVIL = """
[core]
    fsmonitor = touch {mark}; false
    sshCommand = touch {mark}
    pager = touch {mark}
    hooksPath = {folder}
[filter "evil"]
    clean = touch {mark}; cat
    smudge = touch {mark}; cat
    process = touch {mark}; false
    required = true
[diff "evil"]
    command = touch {mark}
    textconv = touch {mark}; cat
[diff]
    external = touch {mark}
[merge "evil"]
    driver = touch {mark}
[submodule]
    recurse = true
"""


def git(folder, *words):
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    base = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@x"]
    return subprocess.run([*base, *words], capture_output=True, text=True, env=env, check=True).stdout.strip()


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "ran"


def take(work):
    return snapshots.take("atlas", str(work))


def files(commit):
    with snapshot_store.store_of("atlas") as store:
        return run_git(["git", f"--git-dir={store}", "ls-tree", "-r", commit]).stdout


def names(commit):
    return [line.partition("\t")[2] for line in files(commit).splitlines()]


def repository(folder, *, commit=True):
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "f").write_text("f\n")
    if commit:
        git(folder, "add", "f")
        git(folder, "commit", "-q", "-m", "first")
    return folder


def poison(folder, mark):
    """What an agent may write: every setting of git that names a command, attributes that use them, hooks."""
    place = folder / ".git"
    if place.is_dir():
        hooks = place / "hooks"
        for name in ("post-checkout", "post-index-change", "pre-commit", "reference-transaction", "fsmonitor-watchman"):
            (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
            (hooks / name).chmod(0o755)
        with (place / "config").open("a") as config:
            config.write(EVIL.format(mark=mark, folder=hooks))
    (folder / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")


def everything(work):
    """Every act of ours that works on the files; returns the snapshots before and after a change."""
    first = take(work)
    (work / "a.py").write_text("a = 2\n")
    (work / "inner" / "f").write_text("changed\n")
    second = take(work)
    snapshots.changes("atlas", str(work), first)
    differences.diff("atlas", first, second)
    differences.differing("atlas", first, second)
    snapshots.put_back("atlas", str(work), due=lambda: first, done=lambda _: None)
    take(work)
    snapshots.rewind("atlas", str(work), first, second)
    snapshots.restore("atlas", str(work), first, ["inner/f", "inner", "a.py"])
    snapshots.mixed("atlas", first, second, str(work), ["a.py", "inner/f", "inner"])
    return first, take(work)


@pytest.mark.parametrize("commit", [True, False])
def test_no_command_of_a_repository_inside_is_run(work, mark, commit):
    repository(work / "inner", commit=commit)
    poison(work / "inner", mark)
    poison(work, mark)
    first, last = everything(work)
    assert not mark.exists()
    assert names(first) == names(last) == [".gitattributes", "a.py", "inner/.gitattributes", "inner/f"]


def test_none_is_run_where_the_index_knows_the_repository_from_before(work, mark):
    """As older versions left it: a gitlink in the index, and in a snapshot."""
    repository(work / "inner")
    with snapshot_store.store_of("atlas") as store:
        ours = snapshots._git(store, work)
        run_git([*ours, "add", "-A"])
        tree = run_git([*ours, "write-tree"]).stdout.strip()
        old = run_git([*ours, "commit-tree", tree, "-m", "old"]).stdout.strip()
        run_git([*ours, "update-ref", f"{snapshots.REFS}{old}", old])
    assert "160000 commit" in files(old)
    poison(work / "inner", mark)
    (work / "inner" / "f").write_text("changed\n")
    first = take(work)
    for _ in range(2):
        snapshots.changes("atlas", str(work), old)
        snapshots.mixed("atlas", old, first, str(work), ["a.py"])
        snapshots.restore("atlas", str(work), old, ["inner", "a.py"])
        snapshots.rewind("atlas", str(work), first, old)
        snapshots.put_back("atlas", str(work), due=lambda: old, done=lambda _: None)
        take(work)
    assert not mark.exists()
    assert (work / "inner" / ".git" / "HEAD").exists()
    snapshots.put_back("atlas", str(work), due=lambda: first, done=lambda _: None)
    assert (work / "inner" / "f").read_text() == "changed\n"
    assert "160000" not in files(take(work))


def test_a_file_that_becomes_a_repository_is_kept_as_its_files(work, mark):
    take(work)
    (work / "a.py").unlink()
    repository(work / "a.py")
    poison(work / "a.py", mark)
    for _ in range(3):
        (work / "b.py").write_text(os.urandom(4).hex())
        assert names(take(work)) == ["a.py/.gitattributes", "a.py/f", "b.py"]
    assert not mark.exists()


def test_repositories_in_repositories_are_kept_to_a_depth_and_never_entered(work, mark):
    deep = work
    for _level in range(nested.ROUNDS + 2):
        deep = repository(deep / "r")
        poison(deep, mark)
    found = names(take(work))
    (work / "a.py").write_text("a = 3\n")
    again = names(take(work))
    assert not mark.exists()
    assert "r/r/r/f" in found
    assert "160000" not in files(take(work))
    assert set(found) <= set(again), "each is found one repository deeper than before"


@pytest.mark.parametrize("commit", [True, False])
def test_a_repository_elsewhere_that_a_file_names_is_not_entered(work, tmp_path, mark, commit):
    """`.git` may be a file that names a folder, as in a worktree, or a link to one."""
    outside = repository(tmp_path / "outside", commit=commit)
    poison(outside, mark)
    for name in ("named", "linked"):
        (work / name).mkdir()
        (work / name / "f").write_text("mine\n")
    (work / "named" / ".git").write_text(f"gitdir: {outside}/.git\n")
    (work / "linked" / ".git").symlink_to(outside / ".git")
    for text in ("1", "2"):
        (work / "named" / "f").write_text(text)
        assert names(take(work)) == ["a.py", "linked/f", "named/f"]
    assert not mark.exists()


def test_an_empty_repository_does_not_keep_the_files_from_being_kept(work):
    (work / "inner").mkdir()
    git(work / "inner", "init", "-q")
    first = take(work)
    assert names(first) == ["a.py"]
    assert take(work) == first


def test_names_that_no_line_holds_are_names_too(work):
    for name in ("a\nb", "ü 漢", '"quoted"', "-rf", ":(glob)x"):
        repository(work / name, commit=name != "-rf")
    with snapshot_store.store_of("atlas") as store:
        listed = run_git(["git", f"--git-dir={store}", "ls-tree", "-r", "-z", "--name-only", take(work)]).stdout
    assert set(listed.split("\0")) - {""} == {"a.py", "a\nb/f", "ü 漢/f", '"quoted"/f', "-rf/f", ":(glob)x/f"}


@pytest.mark.parametrize("name", ["in\rner", "in\r\nner", "in\nner"])
def test_no_command_is_run_whatever_the_repository_is_called(work, mark, name):
    repository(work / name)
    poison(work / name, mark)
    for text in ("1", "2", "3"):
        (work / name / "f").write_text(text)
        found = files(take(work))
        assert "160000" not in found
        assert found.count("100644") == 3
    assert not mark.exists()


def test_what_a_repository_inside_ignores_is_not_kept_and_its_files_are_put_back(work):
    inner = repository(work / "inner", commit=False)
    (inner / ".gitignore").write_text("target/\n")
    (inner / "target").mkdir()
    (inner / "target" / "big").write_text("x")
    head = (inner / ".git" / "HEAD").read_bytes()
    first = take(work)
    assert names(first) == ["a.py", "inner/.gitignore", "inner/f"]
    (inner / "f").unlink()
    (inner / "new").write_text("x")
    assert snapshots.put_back("atlas", str(work), due=lambda: first, done=lambda _: None)
    assert (inner / "f").read_text() == "f\n"
    assert not (inner / "new").exists()
    assert (inner / "target" / "big").exists()
    assert (inner / ".git" / "HEAD").read_bytes() == head


@pytest.mark.parametrize("word", ["ls-files", "update-index"])
def test_where_the_index_cannot_be_made_clean_git_does_not_look_at_the_files(work, mark, monkeypatch, word):
    """Else it would enter the repository that the index still names."""
    repository(work / "inner")
    poison(work / "inner", mark)
    with monkeypatch.context() as broken:
        broken.setattr(nested, "run_git", lambda command, **more: run_git(["false"] if word in command else command, **more))
        for text in ("1", "2", "3"):
            (work / "inner" / "f").write_text(text)
            assert take(work) == ""
    assert not mark.exists()
    assert "inner/f" in names(take(work))
    assert not mark.exists()


def test_a_snapshot_that_took_too_long_does_not_keep_the_next_from_being_taken(work, monkeypatch):
    first = take(work)
    (work / "a.py").write_text("a = 2\n")

    def killed(command, **more):
        if "add" in command:
            (snapshot_store.root("atlas") / snapshot_store.STORE / "index.lock").write_text("")
            return subprocess.CompletedProcess(command, 127, "", "timed out")
        return run_git(command, **more)

    with monkeypatch.context() as slow:
        slow.setattr(nested, "run_git", killed)
        assert take(work) == ""
    assert take(work) not in ("", first)


def test_an_unchanged_workspace_with_a_repository_inside_costs_one_process(work, monkeypatch):
    repository(work / "inner")
    for path in Path(work).rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    first = take(work)
    called = []
    for module in (nested, snapshots):
        monkeypatch.setattr(module, "run_git", lambda command, **more: called.append(command) or run_git(command, **more))
    assert take(work) == first
    assert [command[-4:] for command in called] == [["add", "-A", "--", "."]]
