"""A password in the address of the database or of Redis stands in no message, however the address is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.views.debug import get_default_exception_reporter_filter

from tasks_app.management import entry
from tests.services_fixtures import ROOT

WRONG = [
    ("REDIS_URL", "http://:hunter2@h:6379/0"),
    ("REDIS_URL", "hunter2"),
    ("REDIS_URL", "redis://:hunter/2@h:6379/0"),
    ("REDIS_URL", "redis://:hunter#2@h:6379/0"),
    ("REDIS_URL", "redis://:hunter2@[::1:6379/0"),
    ("DATABASE_URL", "postgres://crew:hunter/2@h:5432/db"),
    ("DATABASE_URL", "postgres//crew:hunter2@h/db"),
    ("DATABASE_URL", "hunter2://h/db"),
    ("DATABASE_URL", "hunter2"),
]


@pytest.mark.parametrize(("name", "address"), WRONG)
def test_an_address_that_cannot_be_read_is_not_repeated(name: str, address: str, tmp_path: Path) -> None:
    env = {**os.environ, "CREWDESK_HOME": str(tmp_path), "DATABASE_URL": "", name: address}
    for words in (["manage.py", "team", "list"], ["-m", "dashboard.worker"]):
        done = subprocess.run([sys.executable, *words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert f"{name} cannot be read. It has the form" in done.stderr
        assert "hunter" not in done.stdout + done.stderr


@pytest.mark.parametrize("scheme", ["mysql", "oracle", "mssql", "postgis", "cockroach"])
def test_another_database_is_refused_with_those_that_work(scheme: str, tmp_path: Path) -> None:
    env = {**os.environ, "CREWDESK_HOME": str(tmp_path), "DATABASE_URL": f"{scheme}://crew:hunter2@h/db"}
    done = subprocess.run(
        [sys.executable, "manage.py", "team", "list"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    said = "The settings are not right: DATABASE_URL cannot be read. It has the form postgres://"
    assert done.stderr.startswith(said)
    assert "or sqlite:////path" in done.stderr
    assert "hunter" not in done.stderr


def test_an_error_that_nobody_expected_is_told_without_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(self: object) -> None:
        raise RuntimeError("no answer from redis://:hunter2@h:6379/0")

    monkeypatch.setattr(entry.Entry, "execute", broken)
    with pytest.raises(SystemExit):
        entry.main(["manage.py", "up"])
    assert "redis://:***@h:6379/0" in capsys.readouterr().err


def test_the_error_page_of_developers_shows_no_address() -> None:
    shown = get_default_exception_reporter_filter().get_safe_settings()
    hidden = {name for name, value in shown.items() if value == "********************"}
    assert {"REDIS_URL", "CELERY_BROKER_URL", "ONCALL_URL", "BACKUP_URL", "SECRET_KEY"} <= hidden
    assert shown["TIME_ZONE"] == settings.TIME_ZONE
