"""The settings: a value that makes no sense stops the start with a sentence; what they ask of SQLite is taken."""

import os
import re
import runpy
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

ROOT = Path(__file__).resolve().parents[2]
NONSENSE = {
    "CREWDESK_HOME": ("/proc/x",),
    "DATABASE_URL": ("nonsense", "mysql://u:p@host/name", "postgres://host:abc/name"),
    "REDIS_URL": ("nonsense", "redis://host:abc/0", "redis://host:6379/abc", "unix:///path?db=abc"),
    "CREWDESK_SECRET_KEY": ("short",),
    "CREWDESK_HOSTS": (
        "http://x",
        "desk.example.org:8400",
        "a b",
        ",",
        "::1",
        "10.0.0.999",
        "https://desk.example.org/",
        "[::g]",
    ),
    "CREWDESK_HTTPS": ("maybe",),
    "CREWDESK_PROXY": ("nonsense!!", "10.0.0.0/99", "10.0.0.999", "http://proxy", "proxy:80", "[::1]", ".example.org"),
    "CREWDESK_DB_POOL": ("x", "2.5", "0"),
    "CREWDESK_WORKER_SLOTS": ("2.5", "0"),
    "CREWDESK_GRACE_S": ("nan", "-1"),
    "CREWDESK_DAY_USD": ("inf", "0"),
    "CREWDESK_ONCALL_AFTER": ("0", "soon"),
    "CREWDESK_BACKUP_HOURS": ("0", "daily"),
    "CREWDESK_BACKUP_KEEP": ("1.5", "all"),
    "CREWDESK_IMPORT_MB": ("0.5", "1GB"),
    "CREWDESK_KEEP_STEPS_DAYS": ("-1",),
    "CREWDESK_KEEP_TRANSCRIPTS_DAYS": ("never",),
    "CREWDESK_KEEP_EVENTS_DAYS": ("1e9",),
    "CREWDESK_KEEP_SNAPSHOTS_DAYS": ("x",),
    "CREWDESK_REHEARSE": ("2",),
    "CREWDESK_STATIC_ROOT": ("/proc/x", "/dev/null"),
    "CREWDESK_STATIC_MANIFEST": ("perhaps",),
    "CREWDESK_LOG_LEVEL": ("loud", "10"),
    "CREWDESK_INSPECTABLE": ("2",),
    "CREWDESK_DEBUG": ("x",),
}
CHECKED = {"CREWDESK_ORIGINS", "CREWDESK_ONCALL_URL", "CREWDESK_BACKUP_URL", "CREWDESK_CLAUDE_CLI"}
"""What is judged by `manage.py check`: tests/management/test_checks.py."""


def read(**variables: str) -> dict[str, Any]:
    """The settings as a process reads them that starts now."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        return runpy.run_path(str(ROOT / "dashboard" / "settings" / "__init__.py"))


def test_every_variable_is_tried_with_nonsense_below_or_judged_by_the_checks() -> None:
    table = (ROOT / "docs" / "operations.md").read_text()
    assert set(NONSENSE) | CHECKED == set(re.findall(r"^\| `([A-Z][A-Z_]+)` \|", table, re.MULTILINE))


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in NONSENSE.items() for value in values])
def test_a_value_that_makes_no_sense_stops_the_start_and_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=rf"\b{name}\b"):
        read(**{name: value})


def test_what_makes_sense_is_taken() -> None:
    hosts = "desk.example.org,.example.org,[::1],127.0.0.1,web_1,*"
    proxies = "10.0.0.2,10.0.0.0/8,fd00::/8,::1,proxy,proxy_1,lb.example.org"
    found = read(CREWDESK_HOSTS=hosts, CREWDESK_PROXY=proxies, CREWDESK_LOG_LEVEL="debug", REDIS_URL="rediss://:w@host/2")
    assert (found["ALLOWED_HOSTS"], found["PROXIES"]) == (hosts.split(","), proxies.split(","))
    assert (found["LOG_LEVEL"], found["LOGGING"]["root"]["level"]) == ("DEBUG", "DEBUG")
    for address in ("redis://host", "redis://host:6379/0", "unix:///path?db=3", "redis://host:6379/?db=1"):
        assert read(REDIS_URL=address)["REDIS_URL"] == address


@pytest.mark.parametrize("words", [["dashboard.worker"], ["daphne", "dashboard.asgi:application"]])
def test_each_process_says_it_in_a_sentence(words: list[str]) -> None:
    env = {**os.environ, "CREWDESK_LOG_LEVEL": "loud"}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    said = "CREWDESK_LOG_LEVEL='loud' is none of DEBUG, INFO, WARNING, ERROR, CRITICAL."
    assert (done.returncode, done.stderr) == (1, f"The settings are not right: {said}\n")


def test_every_word_to_sqlite_is_taken(tmp_path: Path) -> None:
    """SQLite passes over what it does not know, so each pragma is asked back. The last one counts on a Mac alone."""
    connection = sqlite3.connect(tmp_path / "x.sqlite3")
    words = [word.strip() for word in settings.SQLITE_OPTIONS["init_command"].split(";") if word.strip()]
    for word in words:
        connection.execute(word)
    asked = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "mmap_size")}
    asked["checkpoint_fullfsync"] = connection.execute("PRAGMA checkpoint_fullfsync").fetchone()[0]
    assert asked == {"journal_mode": "wal", "synchronous": 1, "mmap_size": 134217728, "checkpoint_fullfsync": 1}
