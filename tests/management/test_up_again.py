"""A second `manage.py up` where one runs: what was asked of it in vain is said, and nonsense is refused before that."""

import json
from pathlib import Path
from typing import Any

import pytest

from tasks_app.management.locks import FileLock
from tests.management.commands import run

pytestmark = pytest.mark.django_db


@pytest.fixture
def running(settings: Any, tmp_path: Path) -> Any:
    """An `up` that serves this home on port 8400, as far as a second one can see."""
    settings.HOME = tmp_path / "home"
    folder = settings.HOME / "run"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "up.json").write_text(json.dumps({"pid": 1, "port": 8400, "rehearse": False}))
    with FileLock(folder / "up.lock"):
        yield


@pytest.mark.parametrize(
    ("words", "late"),
    [
        (["--port", "8401"], "--port 8401"),
        (["--workers", "2", "--webs", "1", "--rehearse"], "--workers 2 --webs 1 --rehearse"),
        (["--port", "8400", "--workers", "2"], "--workers 2"),
        (["--port", "8400", "--no-browser"], ""),
        ([], ""),
    ],
)
def test_the_running_one_goes_on_as_it_was_started_and_says_so(running: None, capsys: Any, words: list[str], late: str) -> None:
    assert run("up", *words)[0] == 0
    out = capsys.readouterr().out
    assert "already runs here" in out
    said = f"It goes on as it was started, on port 8400, without {late}. End it first to change that."
    assert (said in out) == bool(late)
    assert late or "It goes on" not in out


@pytest.mark.parametrize("port", ["99999", "0", "-1"])
def test_a_number_that_is_no_port_is_refused_whether_or_not_one_runs(running: None, port: str) -> None:
    code, _, err = run("up", f"--port={port}")
    assert (code, err) == (2, f"--port {port} is not a port number: use 1024 to 65535.\n")
