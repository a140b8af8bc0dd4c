"""What is read of a file that a person names: only what comes to an end, and not without measure."""

import os
from pathlib import Path

import pytest

from tasks_app.domain.errors import Invalid
from tasks_app.management import lead, plan_files, small_files


def read(path: Path) -> bytes:
    return small_files.read(path, what="plan", field="plan")


def test_a_regular_file_is_read_whole_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_bytes(b"x" * small_files.MOST)
    (tmp_path / "link").symlink_to("plan.yaml")
    assert len(read(tmp_path / "link")) == small_files.MOST


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/tty", "pipe", "link", "folder", "large", "none", "nul\0"])
def test_whatever_else_is_refused_at_once_and_in_words(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_bytes(b"x" * (small_files.MOST + 1))
    with pytest.raises(Invalid, match=r"The plan .* (cannot be read: |at most 1,048,576 )"):
        read(tmp_path / path)


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    file.touch()
    looked = os.stat(file)
    monkeypatch.setattr(small_files.os, "stat", lambda _: looked)
    with pytest.raises(Invalid, match="no regular file"):
        read(pipe)


def test_plans_scripts_and_leads_are_read_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Invalid, match=r"The plan .* no regular file"):
        plan_files.read(tmp_path / "pipe")
    with pytest.raises(Invalid, match=r"The lead file .* no regular file"):
        lead.load(tmp_path / "pipe")
    text = "team: X\nrehearsal: pipe\nagents: [{name: a, role: r}]\ntasks: [{title: A page, criteria: [x]}]\n"
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(Invalid, match=r"The script .* no regular file"):
        plan_files.read(tmp_path / "plan.yaml")
