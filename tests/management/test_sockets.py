"""Where the embedded server listens."""

import os
from pathlib import Path

import pytest

from tasks_app.management.sockets import MAX_PATH_BYTES, private_folder, socket_path


def test_it_lies_in_the_home() -> None:
    assert socket_path(Path("/srv/crewdesk")) == Path("/srv/crewdesk/run/valkey.sock")


def test_a_home_with_a_long_path_gets_a_short_socket_that_is_always_the_same_and_its_own() -> None:
    long = Path("/home") / ("é" * 60)
    path = socket_path(long)
    assert len(os.fsencode(path)) <= MAX_PATH_BYTES
    assert path == socket_path(long)
    assert path != socket_path(long / "other")


def test_a_home_has_one_socket_however_it_is_written(tmp_path: Path) -> None:
    real = tmp_path / ("x" * 90)
    real.mkdir()
    (tmp_path / "h").symlink_to(real)
    assert socket_path(tmp_path / "h") == socket_path(real)
    assert socket_path(real).parent.parent == Path("/tmp")


def test_a_folder_that_is_open_to_others_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    private_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError, match="not a folder of its own"):
        private_folder(tmp_path / "run")


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    with pytest.raises(PermissionError, match="belongs to another user"):
        private_folder(tmp_path)
