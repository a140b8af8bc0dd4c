"""Which paths a run may touch, with symbolic links followed."""

from pathlib import Path

import pytest

from tasks_app.runners import spelling
from tasks_app.runners.claude.reach import Reach, config_dir, touched


@pytest.fixture
def reach(tmp_path: Path) -> Reach:
    """A workspace with a link out of it, a temporary folder and Claude Code's own."""
    work, config = tmp_path / "work", tmp_path / "home" / ".claude"
    for folder in (work / "src", tmp_path / "home" / "tmp", config / "plans", config / "projects" / "p"):
        folder.mkdir(parents=True)
    (work / "out").symlink_to(tmp_path)
    (work / "in").symlink_to(work / "src")
    return Reach(str(work), str(tmp_path / "home" / "tmp"), str(config))


@pytest.mark.parametrize("path", ["a.txt", "src/../a.txt", "./src/b/c.py", "in/new.txt", "."])
def test_the_workspace_is_open(reach: Reach, path: str) -> None:
    assert reach.may(path, write=True)
    assert reach.may(f"{reach.workspace}/{path}", write=True)


@pytest.mark.parametrize(
    "path", ["../a", "out/a", "src/../../a", "/etc/passwd", "~/x", "~root/x", "a\0b", "in/../../a", "out/work2/x"]
)
def test_everything_else_is_closed(reach: Reach, path: str) -> None:
    assert not reach.may(path, write=False)
    assert not reach.may(path, write=True)


def test_a_folder_whose_name_begins_like_the_workspace_is_closed(reach: Reach) -> None:
    assert not reach.may(reach.workspace + "-other/x", write=False)


def test_claude_codes_own_files_are_readable_but_not_its_credentials(reach: Reach) -> None:
    assert reach.may(f"{reach.config}/projects/p/s/tool-results/x.txt", write=False)
    assert not reach.may(f"{reach.config}/projects/p/s.jsonl", write=True)
    assert reach.may(f"{reach.config}/plans/p.md", write=True)
    assert not reach.may(f"{reach.config}/.credentials.json", write=False)
    assert reach.may(f"{reach.temporary}/x", write=True)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "../x"}),
        ("Write", {"file_path": "/etc/x", "content": ""}),
        ("Edit", {"file_path": "out/x"}),
        ("MultiEdit", {"file_path": "out/x"}),
        ("NotebookEdit", {"notebook_path": "out/x.ipynb"}),
        ("Grep", {"pattern": "x", "path": "out"}),
        ("Glob", {"pattern": "*.py", "path": "../"}),
        ("Glob", {"pattern": "../**/*.py"}),
        ("Glob", {"pattern": "src/*/../../../*"}),
        ("Glob", {"pattern": "/etc/*"}),
        ("Glob", {"pattern": "{../x,y}"}),
        ("Glob", {"pattern": "{src,/etc}/*"}),
    ],
)
def test_each_file_tool_is_refused_outside_in_words(reach: Reach, tool: str, given: dict[str, str]) -> None:
    refusal = reach.refusal(tool, given)
    assert refusal is not None
    assert "lies outside the workspace" in refusal


@pytest.mark.parametrize(
    ("tool", "given"), [("Glob", {"pattern": "src/**/*.py"}), ("Grep", {"pattern": "../x"}), ("Bash", {"command": "cat /etc/x"})]
)
def test_patterns_inside_and_other_tools_pass(reach: Reach, tool: str, given: dict[str, str]) -> None:
    assert reach.refusal(tool, given) is None


def test_odd_inputs_name_no_path() -> None:
    assert touched("Read", {"file_path": 7}) == []
    assert touched("Write", {}) == []


def test_rules_see_real_paths(reach: Reach) -> None:
    assert reach.real_input("Edit", {"file_path": "in/a.py", "old_string": "x"}) == {
        "file_path": f"{reach.real_workspace}/src/a.py",
        "old_string": "x",
    }
    assert reach.real_input("Bash", {"command": "ls"}) == {"command": "ls"}


def test_the_config_folder_is_read_off_the_transcripts_path() -> None:
    assert config_dir("/h/.claude/projects/-w/s.jsonl") == "/h/.claude"
    assert config_dir("/x/y.jsonl") == ""
    assert config_dir("") == ""


def test_where_case_is_ignored_a_rule_sees_a_file_by_the_name_on_the_disk(reach: Reach, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a Mac, where the workspace's folder is found under its name in capitals, too."""
    work = Path(reach.workspace)
    (work / ".env").write_text("KEY=1")
    if not spelling.ignored_in(work):
        assert reach.real_input("Read", {"file_path": "src/../.ENV"}) == {"file_path": f"{work}/.ENV"}
        monkeypatch.setattr(spelling, "ignored_in", lambda _folder: True)
    assert reach.real_input("Read", {"file_path": "src/../.ENV"}) == {"file_path": f"{work}/.env"}
    assert reach.real_input("Write", {"file_path": "SRC/New.py"}) == {"file_path": f"{work}/src/New.py"}
    assert reach.real_input("Read", {"file_path": "/nowhere/HOSTS"}) == {"file_path": "/nowhere/HOSTS"}
