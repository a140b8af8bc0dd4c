"""What these tests share."""

import pytest

from tests.services.fixtures import database_threads, hints  # noqa: F401


@pytest.fixture
def work(tmp_path, settings):
    """A workspace with one file, and a home of its own beside it."""
    settings.HOME = tmp_path / "home"
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.py").write_text("a = 1\n")
    return folder
