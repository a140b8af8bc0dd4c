"""`manage.py`: a help text for people, and never a traceback."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import load_command_class
from django.db import OperationalError

from tasks_app.management import entry
from tests.management.commands import run, run_json
from tests.management.desks import ROOT

COMMANDS = sorted(path.stem for path in (ROOT / "tasks_app/management/commands").glob("[a-z]*.py"))


def manage(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "manage.py", *words]
    return subprocess.run(
        argv, cwd=ROOT, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=60, check=False
    )


def ended(monkeypatch: pytest.MonkeyPatch, problem: BaseException, *words: str) -> int:
    def fail(_: object) -> None:
        raise problem

    monkeypatch.setattr(entry.Entry, "execute", fail)
    with pytest.raises(SystemExit) as caught:
        entry.main(["manage.py", "team", *words])
    return int(caught.value.code or 0)


def test_the_help_names_our_commands_with_a_line_each_and_not_those_of_django() -> None:
    text = entry.Entry(["manage.py"]).main_help_text()
    assert [line.split()[0] for line in text.splitlines() if line.startswith("  ")] == list(entry.COMMANDS)
    assert set(COMMANDS) <= set(entry.COMMANDS)
    assert "sqlmigrate" not in text
    assert "sqlmigrate" in entry.Entry(["manage.py"]).main_help_text(commands_only=True)
    assert max(len(line) for line in text.splitlines()) <= 90


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_only_its_own_options(name: str) -> None:
    text = load_command_class("tasks_app", name).create_parser("manage.py", name).format_help()
    assert "--pythonpath" not in text
    assert "--verbosity" not in text


@pytest.mark.parametrize(
    ("problem", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "Interrupted."),
        (ImproperlyConfigured("CREWDESK_PORT='x' is not a number."), 1, "The settings are not right: CREWDESK_PORT='x'"),
        (TypeError("broken"), 1, "an error that it does not know: TypeError: broken"),
    ],
)
def test_whatever_goes_wrong_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, problem: BaseException, code: int, said: str
) -> None:
    assert ended(monkeypatch, problem) == code
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err


def test_with_traceback_it_is_shown_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="broken"):
        ended(monkeypatch, TypeError("broken"), "--traceback")


def test_settings_that_are_wrong_are_named_by_every_command() -> None:
    done = manage("team", "list", env={"CREWDESK_DAY_USD": "abc"})
    assert done.returncode == 1
    assert done.stderr == "The settings are not right: CREWDESK_DAY_USD='abc' is not a number.\n"


def test_a_command_that_there_is_not_is_wrong_input() -> None:
    done = manage("teem")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Unknown command: 'teem'. Did you mean team?")


def test_a_home_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = manage("team", "list", env={"CREWDESK_HOME": str(tmp_path / "file" / "home")})
    assert done.returncode == 1
    assert f"The folder {tmp_path}/file/home of CREWDESK_HOME cannot be made: Not a directory." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_gone_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "manage.py", "team", "schema"],
        cwd=ROOT, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (entry.PIPE_CLOSED, "")


def test_a_database_that_is_not_prepared_says_what_prepares_it(tmp_path: Path) -> None:
    done = manage("sign_in_link", env={"CREWDESK_HOME": str(tmp_path)})
    assert done.returncode == 1
    assert "`uv run manage.py up` prepares it" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.django_db
@pytest.mark.parametrize("words", [["team", "list"], ["decide"], ["tail", "x"], ["task", "x", "1"], ["healthcheck", "worker"]])
def test_a_database_that_does_not_answer_is_a_sentence_and_one(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("connection refused by secret:hunter2@db")

    monkeypatch.setattr("tasks_app.selectors.access.team_ids", away)
    monkeypatch.setattr("tasks_app.selectors.workers.alive", away)
    code, _, err = run(*words)
    assert code == 1
    assert "The database cannot be used: connection refused" in err
    assert "`uv run manage.py doctor` says more" in err


@pytest.mark.django_db
def test_no_colour_is_written_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("team", "status", "nope")[2]


@pytest.mark.django_db
def test_a_health_check_says_what_is_not_well_and_a_link_where_nobody_answers() -> None:
    code, _, err = run("healthcheck", "web", "--port", "1")
    assert (code, err) == (1, "The web server does not serve its sign-in page on port 1 of this host.\n")
    assert run("healthcheck", "worker")[2].startswith("No worker of this host has sent a heartbeat")
    code, out, err = run("sign_in_link", "--port", "1")
    assert code == 0
    assert out.startswith("http://127.0.0.1:1/sign-in/")
    assert err.startswith("No web server answers on port 1 yet")
    assert run("sign_in_link", "--port", "0")[0] == 2


@pytest.mark.django_db
def test_an_unavailable_database_is_an_error_document_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("tasks_app.selectors.access.team_ids", away)
    code, document = run_json("team", "list")
    assert (code, document["error"]["code"]) == (1, "unavailable")
