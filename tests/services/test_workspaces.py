"""Workspaces: copied, cloned or used in place; snapshots that never touch the team's own repository."""

import os
import subprocess
from pathlib import Path

import pytest

from tasks_app.domain.errors import Conflict, Invalid
from tasks_app.runners import spelling
from tasks_app.services import differences, snapshots, workspaces


def git(folder, *words):
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    base = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@x"]
    done = subprocess.run([*base, *words], capture_output=True, text=True, env=env, check=True)
    return done.stdout.strip()


@pytest.fixture
def home(tmp_path, settings):
    settings.HOME = tmp_path / "home"
    return settings.HOME


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "repo"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("a = 1\n")
    (folder / ".gitignore").write_text("secret.env\nbuild/\n")
    (folder / "secret.env").write_text("KEY=1\n")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "x.js").write_text("x")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    git(folder, "tag", "v1")
    return folder


def prepare(slug="atlas", *, source="repo", mode="copy", ref=None, base, scratch=False):
    return workspaces.prepare(slug, source=source, mode=mode, ref=ref, base=base, scratch=scratch)


def test_a_copy_is_ones_own_and_leaves_out_what_is_made_again(home, repo, tmp_path):
    work = prepare(base=tmp_path)
    assert work == home / "workspaces" / "atlas" / "work"
    assert (work / "src" / "a.py").read_text() == "a = 1\n"
    assert not (work / ".git").exists()
    assert not (work / "node_modules").exists()
    (work / "src" / "a.py").write_text("changed")
    assert (repo / "src" / "a.py").read_text() == "a = 1\n"


def test_no_source_is_a_new_empty_folder_that_only_its_owner_reads(home, tmp_path):
    work = prepare(source="", base=tmp_path)
    assert list(work.iterdir()) == []
    assert work.stat().st_mode & 0o077 == 0
    assert work.parent.stat().st_mode & 0o077 == 0


def test_in_place_is_the_folder_itself_but_never_in_a_rehearsal(home, repo, tmp_path):
    assert prepare(mode="in_place", base=tmp_path) == repo
    assert prepare("other", mode="in_place", base=tmp_path, scratch=True) != repo


def test_a_clone_stands_on_its_own_branch_from_the_ref(home, repo, tmp_path):
    work = prepare(mode="git", ref="v1", base=tmp_path)
    assert git(work, "branch", "--show-current") == "crewdesk/atlas"
    assert (work / "src" / "a.py").exists()


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({"source": "missing"}, "workspace.path"),
        ({"source": "repo/src/a.py"}, "workspace.path"),
        ({"source": "plain", "mode": "git"}, "workspace.path"),
        ({"mode": "git", "ref": "nope"}, "workspace.path"),
        ({"mode": "git", "ref": "--upload-pack=x"}, "workspace.ref"),
        ({"source": "."}, "workspace.path"),
    ],
)
def test_what_cannot_be_prepared_is_refused_naming_the_field_and_leaves_nothing(home, repo, tmp_path, words, field):
    (tmp_path / "plain").mkdir()
    with pytest.raises(Invalid) as refused:
        prepare(base=tmp_path, **words)
    assert refused.value.field == field
    assert workspaces.taken() == set()


def test_a_name_whose_folder_is_there_is_refused_and_the_folder_stays(home, repo, tmp_path):
    work = prepare(base=tmp_path)
    with pytest.raises(Conflict):
        prepare(base=tmp_path)
    assert (work / "src" / "a.py").exists()


def test_a_snapshot_does_not_touch_the_teams_own_repository(home, repo):
    before = (git(repo, "status", "--porcelain"), git(repo, "rev-parse", "HEAD"), (repo / ".git" / "index").read_bytes())
    (repo / "new.txt").write_text("x")
    first = snapshots.take("atlas", str(repo))
    (repo / "new.txt").unlink()
    assert len(first) == 40
    assert (git(repo, "status", "--porcelain"), git(repo, "rev-parse", "HEAD"), (repo / ".git" / "index").read_bytes()) == before


def test_a_diff_names_files_counts_and_is_cut(home, repo):
    first = snapshots.take("atlas", str(repo))
    (repo / "src" / "a.py").write_text("a = 2\n")
    (repo / "ü 漢.txt").write_text("x" * 100_000)
    found = differences.diff("atlas", first, snapshots.take("atlas", str(repo)))
    assert found["files"] == ["src/a.py", "ü 漢.txt"]
    assert "2 files changed" in found["summary"]
    assert found["cut"] is True
    assert len(found["patch"]) <= differences.PATCH_LIMIT
    assert 100_000 < found["length"] < 101_000, "the whole of it is counted"
    assert found["all"] is True
    assert differences.diff("atlas", first, first)["summary"] == "no file changed"
    assert "not available" in differences.diff("atlas", "", first)["summary"]


def test_a_diff_that_is_larger_than_memory_is_read_to_a_limit_only(home, repo, monkeypatch):
    first = snapshots.take("atlas", str(repo))
    for number in range(10):
        (repo / f"{number}.txt").write_text("line\r\n" * 20_000)
    second = snapshots.take("atlas", str(repo))
    whole = differences.diff("atlas", first, second)
    monkeypatch.setattr(differences, "READ", 100_000)
    found = differences.diff("atlas", first, second)
    assert found == {**whole, "length": found["length"], "all": False}
    assert 64_000 < found["length"] < 100_000 < whole["length"]
    assert "10 files changed" in whole["summary"]
    monkeypatch.setattr(differences, "READ", 200)
    found = differences.diff("atlas", first, second)
    assert found["summary"].startswith("more than ")
    assert found["files"][0] == "0.txt"
    assert (found["patch"], found["all"]) == ("", False)
    gone = differences.diff("atlas", "a" * 40, "b" * 40)
    assert (gone["summary"], gone["all"]) == ("not available: git could not read it", False)


def test_files_are_put_back_as_they_were_and_new_ones_go(home, repo):
    first = snapshots.take("atlas", str(repo))
    (repo / "src" / "a.py").write_text("broken")
    (repo / "new.py").write_text("x")
    (repo / "kept.py").write_text("x")
    done = snapshots.restore("atlas", str(repo), first, [str(repo / "src" / "a.py"), "new.py", "never-there.py"])
    assert done == ["new.py", "src/a.py"]
    assert (repo / "src" / "a.py").read_text() == "a = 1\n"
    assert not (repo / "new.py").exists()
    assert (repo / "kept.py").exists(), "only what was named"


def test_what_git_ignores_is_in_no_snapshot_and_is_therefore_never_removed(home, repo):
    first = snapshots.take("atlas", str(repo))
    assert snapshots.restore("atlas", str(repo), first, ["secret.env"]) == []
    assert (repo / "secret.env").read_text() == "KEY=1\n"


def test_nothing_outside_the_workspace_and_nothing_of_git_is_touched(home, repo, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    (repo / "link").symlink_to(outside)
    first = snapshots.take("atlas", str(repo))
    names = [str(outside), "../outside.txt", "link", ".", "/", ".git/config", "src/../.git/HEAD", ":(glob)**", "src"]
    assert snapshots.restore("atlas", str(repo), first, names) == ["link"], "the link itself, never what it leads to"
    assert outside.read_text() == "mine"
    assert (repo / ".git" / "config").exists()
    assert (repo / ".git" / "HEAD").exists()


@pytest.fixture
def one_case(repo, monkeypatch):
    """The repository as on a Mac's disk, which takes its folder's name in capitals for the same."""
    monkeypatch.setattr(spelling, "ignored_in", lambda _folder: True)
    return repo


def test_a_link_of_the_name_in_capitals_does_not_make_a_disk_of_one_case(repo):
    before = spelling.ignored_in(repo)
    if not before:
        repo.with_name(repo.name.swapcase()).symlink_to(repo)
    assert spelling.ignored_in(repo) == before


def test_a_file_written_under_another_spelling_is_put_back_and_never_removed(home, one_case):
    (one_case / "ü 漢.txt").write_text("old")
    (one_case / "gone.py").write_text("old")
    first = snapshots.take("atlas", str(one_case))
    (one_case / "src" / "a.py").write_text("broken")
    (one_case / "ü 漢.txt").write_text("broken")
    (one_case / "gone.py").unlink()
    done = snapshots.restore("atlas", str(one_case), first, ["SRC/A.py", "u\u0308 漢.txt", "Gone.py", "neu.py"])
    assert done == ["gone.py", "src/a.py", "ü 漢.txt"]
    assert (one_case / "src" / "a.py").read_text() == "a = 1\n"
    assert (one_case / "ü 漢.txt").read_text() == "old"


def test_files_named_by_a_tool_are_known_by_the_disk_s_spelling(one_case):
    assert snapshots.within(str(one_case), ["SRC/A.PY", "src/New.py", ".GIT/config"]) == {"src/a.py", "src/New.py"}


def test_where_case_counts_each_spelling_is_a_file_of_its_own(home, repo):
    if spelling.ignored_in(repo):
        pytest.skip("upper and lower case are one on this disk")
    assert snapshots.within(str(repo), ["SRC/A.PY"]) == {"SRC/A.PY"}
    first = snapshots.take("atlas", str(repo))
    (repo / "src" / "A.py").write_text("new")
    assert snapshots.restore("atlas", str(repo), first, ["src/A.py"]) == ["src/A.py"]
    assert (repo / "src" / "a.py").read_text() == "a = 1\n"
    assert not (repo / "src" / "A.py").exists()


def test_without_a_snapshot_nothing_is_put_back(home, repo):
    assert snapshots.restore("atlas", str(repo), "", ["src/a.py"]) == []


def test_where_git_is_missing_there_is_no_snapshot_and_no_failure(home, repo, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert snapshots.take("atlas", str(repo)) == ""


@pytest.fixture
def mac(monkeypatch, tmp_path):
    """A Mac's PATH: /usr/bin/git stands for git, and `xcode-select` says whether the developer tools are there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    workspaces._has_developer_tools.cache_clear()
    yield folder
    workspaces._has_developer_tools.cache_clear()


@pytest.mark.parametrize("there", [True, False])
def test_a_mac_s_git_without_developer_tools_counts_as_missing_and_is_not_started(home, repo, mac, there):
    (mac / "xcode-select").write_text(f"#!/bin/sh\nexit {0 if there else 2}\n")
    (mac / "git").write_text(f"#!/bin/sh\ntouch {mac}/window\nexit 1\n")
    for each in mac.iterdir():
        each.chmod(0o755)
    assert workspaces.has_git() is there
    assert snapshots.take("atlas", str(repo)) == ""
    assert (mac / "window").exists() is there


def test_removing_takes_what_was_made_and_leaves_a_folder_worked_in_place(home, repo, tmp_path):
    prepare(mode="in_place", base=tmp_path)
    snapshots.take("atlas", str(repo))
    workspaces.remove("atlas")
    assert not Path(home / "workspaces" / "atlas").exists()
    assert (repo / "src" / "a.py").exists()
