"""`manage.py doctor`: looks at the machine and the settings, and says what to do. Nothing secret is ever shown."""

import asyncio
import importlib.metadata
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import psutil
from django.conf import settings
from django.core import checks
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from tasks_app import wake
from tasks_app.checks import RUN_MIB
from tasks_app.domain.text import mask_secrets, one_line
from tasks_app.execution import webhook
from tasks_app.execution.environment import key_source
from tasks_app.management import credentials, desk, embedded, prepare, schema
from tasks_app.management.words import COMMAND, counted
from tasks_app.runners.claude.launcher import bundled_cli
from tasks_app.selectors import workers
from tasks_app.services import backups, workspaces

DISK_WARN_MIB, DISK_FAIL_MIB = 2048, 200
CLOCK_WARN_S = 2.0
CLI_TIMEOUT_S = 20
NEED_DATABASE = {"backup", "clock", "desk"}
"""Checks that would say once more, and slowly, that the database is not there."""

START = f"Start it: {COMMAND} up"
GET_GIT = "Install git. On a Mac: xcode-select --install."


class Level(StrEnum):
    """How a finding is."""

    OK = "ok"
    OFF = "off"  # it does not run now: how to start it
    UNUSED = "unused"  # not set up, and nothing needs it
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: what is so and, where it is not well, what to do."""

    name: str
    level: Level
    message: str
    fix: str = ""


def examine() -> Iterator[Finding]:
    """Yield every finding as it is made; a check that breaks is itself a finding."""
    without: set[str] = set()
    for name, look in CHECKS.items():
        if name in without:
            continue
        try:
            found = look()
            if found.level is Level.FAIL and name == "database":
                without = NEED_DATABASE
            yield found
        except Exception as error:
            reason = one_line(mask_secrets(f"{type(error).__name__}: {error}"), 300)
            yield Finding(name, Level.FAIL, f"The check itself failed: {reason}", "Please report this.")


def _python() -> Finding:
    names = ("django", "channels", "daphne", "celery", "redis", "claude-agent-sdk")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    return Finding("versions", Level.OK, f"Crewdesk {settings.VERSION}, Python {platform.python_version()}, {versions}")


def _settings() -> Finding:
    found = [message for message in checks.run_checks() if not message.is_silenced()]
    if not found:
        return Finding("settings", Level.OK, "the settings fit together")
    worst = max(message.level for message in found)
    text = "; ".join(f"{message.id}: {message.msg}" for message in found)
    fix = " ".join(str(message.hint) for message in found if message.hint)
    return Finding("settings", Level.FAIL if worst >= checks.ERROR else Level.WARN, text, fix)


def _database() -> Finding:
    kind = connection.vendor
    try:
        prepare.reach()
        executor = MigrationExecutor(connection)
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
        gaps = [] if missing else schema.lacks()
    except DatabaseError as error:
        reason = one_line(mask_secrets(str(error)), 200)
        return Finding(
            "database", Level.FAIL, f"{kind} does not answer: {reason}", "Check DATABASE_URL and that the server runs."
        )
    if missing:
        fix = "Run `uv run manage.py migrate`, or `uv run manage.py up`, which does it."
        return Finding("database", Level.FAIL, f"{kind} lacks {missing} migrations", fix)
    if gaps:
        return Finding("database", Level.FAIL, f"{kind} cannot be used: {schema.sentence(gaps)}", schema.FIX)
    return Finding("database", Level.OK, f"{kind} answers and has every migration")


def _redis() -> Finding:
    if wake.reachable():
        return Finding("redis", Level.OK, "the server answers" + (" (embedded)" if settings.REDIS_EMBEDDED else ""))
    if not settings.REDIS_EMBEDDED:
        return Finding("redis", Level.FAIL, "the server of REDIS_URL does not answer", "Start it, or correct or unset REDIS_URL.")
    binary = embedded.find_binary()
    if binary is None:
        return Finding("redis", Level.FAIL, "there is no embedded server for this machine", embedded.NO_SERVER)
    return Finding("redis", Level.OFF, f"the embedded server ({binary.name}) does not run now", START)


def _claude() -> Finding:
    path = settings.CLAUDE_CLI or bundled_cli()
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=CLI_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        fix = "Reinstall claude-agent-sdk (uv sync --reinstall-package claude-agent-sdk), or set CREWDESK_CLAUDE_CLI."
        return Finding("claude", Level.FAIL, f"{path} cannot be run: {error}", fix)
    if done.returncode:
        return Finding("claude", Level.FAIL, f"{path} --version fails: {one_line(done.stderr, 200)}", "See its message.")
    return Finding("claude", Level.OK, f"Claude Code {one_line(done.stdout, 60)}")


def _key() -> Finding:
    source = key_source()
    if source:
        return Finding("key", Level.OK, f"real agents use {source}")
    fix = f"To have real agents, {credentials.HOW}."
    return Finding("key", Level.WARN, "no API key and no signed-in Claude Code: teams can only rehearse", fix)


def _oncall() -> Finding:
    """Only that the host is found and public: a real notice would disturb somebody."""
    if not settings.ONCALL_URL:
        return Finding("on-call", Level.UNUSED, "nobody is told outside of what waits (CREWDESK_ONCALL_URL is not set)")
    fix = "Set CREWDESK_ONCALL_URL to the https:// address of a web hook on a public machine, or unset it."
    try:
        host = asyncio.run(webhook.look_up(settings.ONCALL_URL, loopback=settings.DEBUG))
    except webhook.Undelivered as problem:
        return Finding("on-call", Level.FAIL, f"on-call cannot be told: {problem}", fix)
    return Finding("on-call", Level.OK, f"{host} is told of what waits for {settings.ONCALL_AFTER_MIN:g} min")


def _backup() -> Finding:
    if not settings.BACKUP_URL:
        return Finding("backup", Level.UNUSED, "no backups are made (CREWDESK_BACKUP_URL is not set)")
    last, fix = backups.last(), "See `uv run manage.py backup list`; try `uv run manage.py backup now`."
    if last is None:
        return Finding(
            "backup", Level.WARN, "no backup has been made yet", "A worker makes it; or `uv run manage.py backup now`."
        )
    if last.error:
        return Finding("backup", Level.FAIL, f"the last backup failed: {last.error}", fix)
    if last.ended_at is None:
        return Finding("backup", Level.WARN, f"a backup has not ended since {last.started_at:%Y-%m-%d %H:%M} UTC", fix)
    return Finding("backup", Level.OK, f"{last.name} was made and restored on trial, {counted(last.teams, 'team')}")


def _disk() -> Finding:
    free = shutil.disk_usage(settings.HOME).free // 2**20
    level = Level.FAIL if free < DISK_FAIL_MIB else Level.WARN if free < DISK_WARN_MIB else Level.OK
    fix = "Free some space: workspaces and transcripts grow." if level is not Level.OK else ""
    return Finding("disk", level, f"{free} MiB free where CREWDESK_HOME is ({settings.HOME})", fix)


def _memory() -> Finding:
    free = psutil.virtual_memory().available // 2**20
    fits = free // RUN_MIB
    level = Level.FAIL if fits < 1 else Level.WARN if fits < 2 else Level.OK
    fix = "" if level is Level.OK else "Close other programs, or run workers on another machine."
    return Finding("memory", level, f"{free} MiB free: room for about {fits} agents at {RUN_MIB} MiB", fix)


def _isolation() -> Finding:
    if sys.platform != "linux":
        return Finding("isolation", Level.OK, f"{platform.system()}: a watchdog ends agents with their worker")
    missing = [name for name in ("setpriv", "bwrap", "socat") if shutil.which(name) is None]
    if not missing:
        return Finding("isolation", Level.OK, "setpriv, bubblewrap and socat are there")
    fix = "Debian: apt-get install util-linux bubblewrap socat. Without them a team with limits.sandbox does not start."
    return Finding("isolation", Level.WARN, f"{', '.join(missing)} not found", fix)


def _git() -> Finding:
    if workspaces.has_git():
        return Finding("git", Level.OK, "git is there")
    return Finding("git", Level.WARN, "git is not found: no diffs of attempts, no workspaces from repositories", GET_GIT)


def _clock() -> Finding:
    """The database's clock is the one that leases are measured with; a host far off it shows wrong times."""
    with connection.cursor() as cursor:
        expression = "extract(epoch from clock_timestamp())" if connection.vendor == "postgresql" else "strftime('%s','now')"
        before = time.time()
        cursor.execute(f"SELECT {expression}")
        there = float(cursor.fetchone()[0])
    off = abs(there - (before + time.time()) / 2)
    if off > CLOCK_WARN_S:
        return Finding("clock", Level.WARN, f"this machine and the database differ by {off:.0f} s", "Synchronise both (NTP).")
    return Finding("clock", Level.OK, "the clocks of this machine and the database agree")


def _desk() -> Finding:
    facts = desk.running(prepare.home())
    seen = _workers()
    if facts is not None:
        return Finding("desk", Level.OK, f"`up` runs (process {facts['pid']}, port {facts['port']}), {seen}")
    return Finding("desk", Level.OFF, f"`up` does not run on this home, {seen}", START)


def _workers() -> str:
    try:
        count = len(workers.alive())
    except DatabaseError:
        return "workers unknown"
    return f"{count} worker{'s' if count != 1 else ''} at work"


CHECKS: dict[str, Callable[[], Finding]] = {
    "versions": _python,
    "settings": _settings,
    "database": _database,
    "redis": _redis,
    "claude": _claude,
    "key": _key,
    "on-call": _oncall,
    "isolation": _isolation,
    "git": _git,
    "backup": _backup,
    "disk": _disk,
    "memory": _memory,
    "clock": _clock,
    "desk": _desk,
}
