"""`manage.py doctor`: what is well, what is not, and what to do; nothing secret is shown."""

import re
import socket
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from pytest_django import Settings

from tasks_app.domain.errors import Unavailable
from tasks_app.management import doctor, prepare
from tasks_app.management.doctor import Finding, Level
from tests.management.commands import run, run_json

pytestmark = pytest.mark.django_db


def finding(name: str) -> Finding:
    return doctor.CHECKS[name]()


def test_every_check_gives_a_finding_and_what_is_not_well_says_what_to_do() -> None:
    found = list(doctor.examine())
    assert [each.name for each in found] == list(doctor.CHECKS)
    assert all(each.fix for each in found if each.level not in (Level.OK, Level.UNUSED))
    assert {each.name for each in found if each.level is Level.FAIL} == set()


def test_a_key_is_noticed_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert finding("key").level is Level.WARN
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-THISISTHEKEYITSELF")
    code, out, err = run("doctor")
    assert "real agents use an API key" in out
    assert "THISISTHEKEYITSELF" not in out + err


def test_a_redis_that_does_not_answer_is_a_failure_and_the_exit_code_is_one(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_EMBEDDED = False
    monkeypatch.setattr("tasks_app.wake.reachable", lambda: False)
    code, document = run_json("doctor")
    broken = {check["name"]: check for check in document["checks"] if check["level"] == "fail"}
    assert (code, document["ok"], list(broken)) == (1, False, ["redis"])
    assert "REDIS_URL" in broken["redis"]["fix"]


def test_a_claude_program_that_cannot_run_is_a_failure_with_the_way_out(settings: Settings) -> None:
    settings.CLAUDE_CLI = "/no/such/claude"
    found = finding("claude")
    assert found.level is Level.FAIL
    assert "CREWDESK_CLAUDE_CLI" in found.fix


def test_missing_migrations_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.db.migrations.executor.MigrationExecutor.migration_plan", lambda *_: [1, 2, 3])
    found = finding("database")
    assert (found.level, found.message) == (Level.FAIL, "sqlite lacks 3 migrations")


def test_a_database_of_an_earlier_development_version_is_told_from_one_that_fits() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE tasks_app_checkpoint DROP COLUMN name")
    found = finding("database")
    assert (found.level, "it lacks tasks_app_checkpoint.name" in found.message) == (Level.FAIL, True)
    assert "CREWDESK_HOME" in found.fix
    with pytest.raises(Unavailable, match="made by an earlier development version") as refused:
        prepare.database()
    assert refused.value.field == "DATABASE_URL"


@pytest.mark.parametrize(("free_mib", "level"), [(100, Level.FAIL), (1000, Level.WARN), (5000, Level.OK)])
def test_a_full_disk_is_noticed(monkeypatch: pytest.MonkeyPatch, free_mib: int, level: Level) -> None:
    usage = type("Usage", (), {"free": free_mib * 2**20})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    assert finding("disk").level is level


@pytest.mark.parametrize(("free_mib", "level"), [(300, Level.FAIL), (700, Level.WARN), (5000, Level.OK)])
def test_too_little_memory_for_agents_is_noticed(monkeypatch: pytest.MonkeyPatch, free_mib: int, level: Level) -> None:
    memory = type("Memory", (), {"available": free_mib * 2**20, "total": 64 * 2**30})
    monkeypatch.setattr("psutil.virtual_memory", lambda: memory)
    assert finding("memory").level is level


def test_a_clock_far_from_the_databases_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = doctor.time.time
    monkeypatch.setattr("tasks_app.management.doctor.time.time", lambda: real() + 90)
    found = finding("clock")
    assert found.level is Level.WARN
    assert re.search(r"differ by (89|90|91) s", found.message)


def test_a_check_that_breaks_is_itself_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks() -> Any:
        raise RuntimeError("password=hunter2 in the way")

    monkeypatch.setitem(doctor.CHECKS, "disk", breaks)
    found = next(each for each in doctor.examine() if each.name == "disk")
    assert found.level is Level.FAIL
    assert "hunter2" not in found.message


def test_a_missing_helper_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name in ("bwrap", "git") else f"/usr/bin/{name}")
    assert "bwrap not found" in finding("isolation").message
    assert finding("git").level is Level.WARN


def test_it_says_that_nothing_runs_here() -> None:
    assert socket.gethostname() not in finding("desk").message
    assert "does not run on this home" in finding("desk").message
    assert settings.VERSION in finding("versions").message


def test_on_call_is_looked_up_and_its_address_is_never_shown(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "CREWDESK_ONCALL_URL is not set" in finding("on-call").message
    settings.ONCALL_URL = "https://hooks.example.org/T0/secret"
    for address, level in (("8.8.8.8", Level.OK), ("10.0.0.5", Level.FAIL)):
        entry = (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, entry=entry, **__: [entry])
        found = finding("on-call")
        assert found.level is level
        assert "hooks.example.org" in found.message
        assert "secret" not in f"{found.message}{found.fix}"
    settings.ONCALL_URL = "http://hooks.example.org/T0/secret"
    found = finding("on-call")
    assert (found.level, "https://" in found.message, "secret" in found.message) == (Level.FAIL, True, False)


def test_what_does_not_run_or_is_not_needed_is_told_from_what_is_in_order(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr("tasks_app.wake.reachable", lambda: False)
    settings.REDIS_EMBEDDED, settings.ONCALL_URL, settings.BACKUP_URL = True, "", ""
    assert [finding(name).level for name in ("redis", "desk")] == [Level.OFF, Level.OFF]
    assert [finding(name).level for name in ("on-call", "backup")] == [Level.UNUSED, Level.UNUSED]
    assert finding("desk").fix == "Start it: uv run manage.py up"
    code, out, _ = run("doctor")
    assert code == 0
    assert "○ redis" in out
    assert "– on-call" in out
    assert "– backup" in out
    assert "exit code 1, else 0" in out
