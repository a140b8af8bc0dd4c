"""The team's own repository in its file: what is the team's, whatever its `.git` says, and no command that it names."""

import logging
import os

import pytest

from tasks_app.services import bundles, own_repository, workspaces
from tests.services.test_nested import git, poison

pytestmark = pytest.mark.files


@pytest.fixture
def work(tmp_path, settings):
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir()
    return made(tmp_path / "work")


def made(folder, *words):
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", *words)
    (folder / "f").write_text(f"{folder.name}\n")
    git(folder, "add", "f")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def bundle(work, tmp_path):
    """What the team's file would hold: ids of all objects, or None."""
    target = tmp_path / "repository.bundle"
    if not own_repository.bundle(str(work), target):
        return None
    assert [path.name for path in tmp_path.glob("repository*")] == ["repository.bundle"], "nothing is left behind"
    copy = tmp_path / f"again-{os.urandom(4).hex()}"
    bundles._clone(target, copy, own_repository.branch(str(work)))
    git(copy, "fsck", "--full")
    return set(git(copy, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())


def objects(folder):
    return set(git(folder, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("format", ["sha1", "sha256"])
def test_it_comes_whole_with_its_branches_and_tags(work, tmp_path, packed, format):
    mine = made(tmp_path / "mine", f"--object-format={format}")
    git(mine, "tag", "-a", "v1", "-m", "v1")
    git(mine, "checkout", "-q", "-b", "ada/fix-1")
    (mine / "f").write_text("more\n")
    git(mine, "commit", "-q", "-a", "-m", "second")
    if packed:
        git(mine, "gc", "-q")
    assert own_repository.branch(str(mine)) == "ada/fix-1"
    assert bundle(mine, tmp_path) == objects(mine)


def test_names_in_refs_that_git_forbids_keep_nothing_from_being_kept(work, tmp_path):
    """A Finder leaves a .DS_Store in every folder that it shows, larger than any branch's file."""
    git(work, "branch", "ada/fix.locked")
    refs = work / ".git" / "refs"
    (refs / "heads" / ".hidden").mkdir()
    for name in (
        ".DS_Store",
        "heads/.DS_Store",
        "heads/.hidden/x",
        "heads/x.lock",
        "heads/Icon\r",
        "heads/main (copy)",
        "heads/a~1",
        "heads/a..b",
        "heads/y@{1}",
        "heads/x.",
    ):
        (refs / name).write_bytes(b"\0\1bud1" * 2_000)
    assert bundle(work, tmp_path) == objects(work)
    heads = git(work, "bundle", "list-heads", str(tmp_path / "repository.bundle")).splitlines()
    assert [line.split()[1] for line in heads] == ["refs/heads/ada/fix.locked", "refs/heads/main", "HEAD"]


def promise(work, command):
    """A repository that lacks an object and says how to get it: by a command."""
    blob = git(work, "rev-parse", "HEAD:f")
    (work / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with (work / ".git" / "config").open("a") as config:
        config.write(f'[remote "origin"]\nurl = {work}\npromisor = true\nuploadpack = {command}\n')
        config.write("[extensions]\npartialClone = origin\n")


def test_no_command_that_its_settings_name_is_run(work, tmp_path, caplog):
    mark = tmp_path / "ran"
    poison(work, mark)
    assert bundle(work, tmp_path) == objects(work)
    promise(work, f"touch {mark}; false")
    with caplog.at_level(logging.WARNING):
        assert bundle(work, tmp_path) is None
    assert not mark.exists()
    assert "is left out of the export" in caplog.text


def test_git_itself_fetches_nothing_and_runs_no_command_for_it(work, tmp_path):
    """Should git ever run there again."""
    mark = tmp_path / "ran"
    promise(work, f"touch {mark}; false")
    for words in (["bundle", "create", str(tmp_path / "b"), "--all"], ["fetch", "origin"]):
        assert workspaces.run_git(["git", "-C", str(work), *words]).returncode
    assert not mark.exists()


def by_alternates(work, other):
    info = work / ".git" / "objects" / "info"
    info.mkdir(exist_ok=True)
    for name in ("alternates", "http-alternates"):
        (info / name).write_text(f"{other}/.git/objects\n")


def by_link_to_objects(work, other):
    for path in (other / ".git" / "objects").iterdir():
        if not (work / ".git" / "objects" / path.name).exists():
            (work / ".git" / "objects" / path.name).symlink_to(path)


def by_link_of_objects(work, other):
    for path in (other / ".git" / "objects").glob("??/*"):
        (work / ".git" / "objects" / path.parent.name).mkdir(exist_ok=True)
        (work / ".git" / "objects" / path.parent.name / path.name).symlink_to(path)


def by_commondir(work, other):
    (work / ".git" / "commondir").write_text(f"{other}/.git\n")


def by_worktree_setting(work, other):
    (work / ".git" / "refs" / "heads" / "linked").symlink_to(other / ".git" / "refs" / "heads" / "main")


@pytest.mark.parametrize("how", [by_alternates, by_link_to_objects, by_link_of_objects, by_commondir, by_worktree_setting])
def test_what_is_another_repository_s_is_never_in_it(work, tmp_path, how):
    other = made(tmp_path / "secret")
    theirs = objects(other)
    how(work, other)
    assert not (bundle(work, tmp_path) or set()) & theirs, "named by nobody"
    (work / ".git" / "refs" / "heads" / "stolen").write_text(git(other, "rev-parse", "HEAD") + "\n")
    assert not (bundle(work, tmp_path) or set()) & theirs, "named by a branch"


def test_a_git_folder_elsewhere_is_not_the_team_s(work, tmp_path):
    other = made(tmp_path / "secret")
    for make in (lambda git: git.symlink_to(other / ".git"), lambda git: git.write_text(f"gitdir: {other}/.git\n")):
        (work / ".git").rename(tmp_path / os.urandom(4).hex())
        make(work / ".git")
        assert bundle(work, tmp_path) is None
        assert own_repository.branch(str(work)) == ""
        (work / ".git").unlink()
        (work / ".git").mkdir()
    assert bundle(work, tmp_path) is None, "an empty one"


def test_what_is_no_file_is_not_read(work, tmp_path):
    own = work / ".git"
    os.mkfifo(own / "refs" / "heads" / "pipe")
    os.mkfifo(own / "packed-refs")
    (own / "refs" / "heads" / "zero").symlink_to("/dev/zero")
    assert bundle(work, tmp_path) == objects(work)
    (own / "HEAD").unlink()
    os.mkfifo(own / "HEAD")
    assert own_repository.branch(str(work)) == ""
    assert bundle(work, tmp_path) is None


def test_a_file_that_is_larger_than_what_it_claims_to_be_is_not_copied(work, tmp_path):
    with (work / ".git" / "objects" / "pack" / f"pack-{'0' * 40}.pack").open("wb") as pack:
        pack.truncate(2**40)
    assert bundle(work, tmp_path) is None
    (work / ".git" / "objects" / "pack" / f"pack-{'0' * 40}.pack").unlink()
    with (work / ".git" / "refs" / "heads" / "large").open("wb") as ref:
        ref.truncate(2**33)
    assert bundle(work, tmp_path) is None


def test_one_without_a_commit_or_with_a_part_of_its_history_is_left_out(work, tmp_path):
    (work / "f").write_text("second\n")
    git(work, "commit", "-q", "-a", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{work}", "shallow")
    assert bundle(tmp_path / "shallow", tmp_path) is None
    (tmp_path / "unborn").mkdir()
    git(tmp_path / "unborn", "init", "-q")
    assert bundle(tmp_path / "unborn", tmp_path) is None
    assert bundle(tmp_path / "home", tmp_path) is None, "no repository at all"


def test_a_branch_without_a_commit_does_not_keep_the_others_from_arriving(work, tmp_path):
    git(work, "checkout", "-q", "--orphan", "new")
    assert own_repository.branch(str(work)) == "new"
    assert bundle(work, tmp_path) == objects(work)


@pytest.mark.parametrize(
    "head", ["ref: refs/heads/-x", "ref: refs/heads/a\nb", "0" * 40, "", "ref: refs/heads/ü b", "ref: refs/heads/\n"]
)
def test_only_a_plain_name_is_a_branch(work, head):
    (work / ".git" / "HEAD").write_text(head)
    assert own_repository.branch(str(work)) == ""


def test_a_clone_of_a_source_runs_none_of_its_commands(work, tmp_path, settings):
    mark = tmp_path / "ran"
    poison(work, mark)
    git_of_a_team = workspaces.prepare("atlas", source=str(work), mode="git", ref=None, base=tmp_path, scratch=False)
    assert (git_of_a_team / "f").exists()
    promise(work, f"touch {mark}; false")
    with pytest.raises(workspaces.Invalid):
        workspaces.prepare("other", source=str(work), mode="git", ref=None, base=tmp_path, scratch=False)
    assert not mark.exists()


def test_settings_of_this_machine_are_not_ours(work, tmp_path, settings):
    mark = tmp_path / "ran"
    (settings.HOME / ".gitconfig").write_text(f"[core]\nfsmonitor = touch {mark}; false\n[alias]\nx = !touch {mark}\n")
    workspaces.run_git(["git", "-C", str(work), "status"])
    assert workspaces.run_git(["git", "-C", str(work), "x"]).returncode
    assert not mark.exists()
