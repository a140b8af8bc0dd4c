"""The system checks: misconfiguration is said with a code and the way out."""

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from tasks_app import checks

PROXIED = {"HTTPS": True, "PROXIES": ["10.0.0.2"]}


@pytest.fixture(autouse=True)
def _not_as_the_tests_want_it(settings: Settings) -> None:
    settings.INSPECTABLE = False  # tests/conftest.py: true for whoever is not root


def codes() -> list[str]:
    return [str(message.id).removeprefix("crewdesk.") for message in checks.crewdesk(None)]


def test_the_settings_of_a_fresh_home_are_well() -> None:
    assert codes() == []


def test_a_home_that_others_can_read_is_refused(settings: Settings, tmp_path: Path) -> None:
    settings.HOME = tmp_path
    tmp_path.chmod(0o755)
    assert codes() == ["E002"]


def test_a_home_that_cannot_be_written_is_refused(settings: Settings) -> None:
    settings.HOME = Path("/proc/1")
    assert "E001" in codes() or "E002" in codes()
    settings.HOME = Path("/no/such/folder")
    assert codes() == ["E001"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"ORIGINS": ["desk.example.org"]}, ["E003"]),
        ({"ORIGINS": ["https://desk.example.org/path"]}, ["E003"]),
        ({"ORIGINS": ["https://desk.example.org:abc"]}, ["E003"]),
        ({"ORIGINS": ["https://[desk"]}, ["E003"]),
        ({"ORIGINS": ["https://desk.example.org"]}, ["E004"]),
        ({"ORIGINS": ["http://[::1]:8400"]}, []),
        (
            {
                "ORIGINS": ["https://desk.example.org"],
                "ALLOWED_HOSTS": ["desk.example.org"],
                "HTTPS": True,
                "PROXIES": ["10.0.0.2"],
            },
            [],
        ),
        ({"REDIS_URL": "redis://cache.example.org:6379/0"}, ["W001"]),
        ({"REDIS_URL": "redis://:word@cache.example.org:6379/0"}, []),
        ({"REDIS_URL": "redis://127.0.0.1:6379/0"}, []),
        ({"CLAUDE_CLI": "/no/such/claude"}, ["E005"]),
        ({"CLAUDE_CLI": "/tmp"}, ["E005"]),
        ({"BACKUP_URL": "nonsense"}, ["E009"]),
        ({"BACKUP_URL": "file://"}, ["E009"]),
        ({"BACKUP_URL": "file://backups"}, ["E009"]),
        ({"BACKUP_URL": "file:///var/backups"}, []),
        ({"DEBUG": True, "ALLOWED_HOSTS": ["desk.example.org"], **PROXIED}, ["E006"]),
        ({"ALLOWED_HOSTS": ["*"], **PROXIED}, ["E007"]),
        ({"ALLOWED_HOSTS": ["desk.example.org"], "HTTPS": False}, ["W002"]),
        ({"HTTPS": True}, ["W005"]),
        ({"ONCALL_URL": "http://hooks.example.org/secret"}, ["E008"]),
        ({"ONCALL_URL": "https://10.0.0.5/secret"}, ["E008"]),
        ({"ONCALL_URL": "http://127.0.0.1:9/secret"}, ["E008"]),
        ({"ONCALL_URL": "https://hooks.example.org/secret"}, []),
        ({"WORKER_SLOTS": 500_000}, ["W003"]),
        ({"INSPECTABLE": True}, ["W004"]),
    ],
)
def test_each_misconfiguration_has_its_code(settings: Settings, changes: dict[str, Any], expected: list[str]) -> None:
    for name, value in changes.items():
        setattr(settings, name, value)
    assert codes() == expected
    found = checks.crewdesk(None)
    assert all(message.hint for message in found)
    assert not any("secret" in f"{message.msg} {message.hint}" for message in found), "a web hook's address is a secret"
