"""What tests of the benchmarks share."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings: Any) -> None:
    """A home of its own: teams leave folders in it, which another test would find."""
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir(mode=0o700)
