"""Django system checks: what is set wrongly is said with a code and the way out, before anything runs."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.http.request import validate_host

from tasks_app.domain import backup_place
from tasks_app.domain.addresses import fault

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})
RUN_MIB = 400
"""Memory of one Claude process in a long session."""


@register("crewdesk")
def crewdesk(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Return everything that is wrong with the settings of this process."""
    return [*_home(), *_origins(), *_redis(), *_claude(), *_exposure(), *_oncall(), *_backup(), *_memory(), *_inspectable()]


def _home() -> Iterator[CheckMessage]:
    folder = Path(settings.HOME)
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Error(
            f"CREWDESK_HOME ({folder}) cannot be written.", hint="Give it to the user who runs Crewdesk.", id="crewdesk.E001"
        )
    elif stat.S_IMODE(folder.stat().st_mode) & 0o077:
        yield Error(
            f"CREWDESK_HOME ({folder}) is open to other users; it holds the secret key and the database.",
            hint=f"chmod 700 {folder}",
            id="crewdesk.E002",
        )


def _origins() -> Iterator[CheckMessage]:
    for origin in settings.ORIGINS:
        host = _host_of(origin)
        if host is None:
            yield Error(
                f"CREWDESK_ORIGINS: {origin!r} is not an exact origin.",
                hint="Write scheme and host, and the port where it is not the usual one: https://desk.example.org.",
                id="crewdesk.E003",
            )
        elif not validate_host(host, settings.ALLOWED_HOSTS):
            yield Error(
                f"CREWDESK_ORIGINS names {host}, which is not in CREWDESK_HOSTS: every page would be refused.",
                hint=f"Add {host} to CREWDESK_HOSTS.",
                id="crewdesk.E004",
            )


def _host_of(origin: str) -> str | None:
    """Return the host of an exact origin as Django compares it, IPv6 in brackets; None: it is no exact origin."""
    try:
        parts = urlsplit(origin)
        exact = parts.scheme in ("http", "https") and parts.port != 0 and not (parts.path or parts.query or parts.fragment)
    except ValueError:
        return None
    if not exact or not parts.hostname or parts.username is not None or "*" in origin:
        return None
    return f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname


def _redis() -> Iterator[CheckMessage]:
    parts = urlsplit(settings.REDIS_URL)
    if parts.scheme in ("redis", "rediss") and (parts.hostname or "") not in LOOPBACK and not parts.password:
        yield Warning(
            f"REDIS_URL ({parts.hostname}) has no password: whoever can write to that server can start runs.",
            hint="Set a password (redis://:PASSWORD@host:6379/0), or keep the server on a private network.",
            id="crewdesk.W001",
        )


def _claude() -> Iterator[CheckMessage]:
    if settings.CLAUDE_CLI and not (os.path.isfile(settings.CLAUDE_CLI) and os.access(settings.CLAUDE_CLI, os.X_OK)):
        yield Error(
            f"CREWDESK_CLAUDE_CLI ({settings.CLAUDE_CLI}) is not a program.",
            hint="Unset it to use the Claude Code that comes with the SDK, or give the full path of `claude`.",
            id="crewdesk.E005",
        )


def _exposure() -> Iterator[CheckMessage]:
    outside = [host for host in settings.ALLOWED_HOSTS if host not in LOOPBACK and not re.fullmatch(r"testserver|web", host)]
    if settings.DEBUG and outside:
        yield Error(
            f"CREWDESK_DEBUG is on while {', '.join(outside)} is served: error pages show the settings.",
            hint="Unset CREWDESK_DEBUG.",
            id="crewdesk.E006",
        )
    if "*" in settings.ALLOWED_HOSTS:
        yield Error("CREWDESK_HOSTS has `*`: any host name would be taken.", hint="Name the hosts.", id="crewdesk.E007")
    if outside and not settings.HTTPS:
        yield Warning(
            f"{', '.join(outside)} is served without TLS: sign-in cookies travel in the clear.",
            hint="Put a proxy that ends TLS in front and set CREWDESK_HTTPS=1.",
            id="crewdesk.W002",
        )
    if settings.HTTPS and not settings.PROXIES:
        yield Warning(
            "CREWDESK_HTTPS says that a proxy stands in front, CREWDESK_PROXY does not say which: everybody seems to come from "
            "its address, and wrong passwords of one person lock a name for all.",
            hint="Have the proxy set X-Forwarded-For to the client's address, and name the proxy in CREWDESK_PROXY.",
            id="crewdesk.W005",
        )


def _oncall() -> Iterator[CheckMessage]:
    if settings.ONCALL_URL and (wrong := fault(settings.ONCALL_URL, loopback=settings.DEBUG)):
        yield Error(
            f"CREWDESK_ONCALL_URL {wrong}. On-call is not told.",
            hint="Set the https:// address of a web hook on a public machine, or unset it.",
            id="crewdesk.E008",
        )


def _backup() -> Iterator[CheckMessage]:
    if settings.BACKUP_URL and (wrong := backup_place.fault(settings.BACKUP_URL)):
        yield Error(
            f"CREWDESK_BACKUP_URL {wrong}. No backup is made.",
            hint="Set file:///folder or s3://bucket/prefix, or unset it.",
            id="crewdesk.E009",
        )


def _memory() -> Iterator[CheckMessage]:
    have = psutil.virtual_memory().total // 2**20
    fits = max(1, have // RUN_MIB)
    if fits < settings.WORKER_SLOTS:
        yield Warning(
            f"CREWDESK_WORKER_SLOTS={settings.WORKER_SLOTS} need about {settings.WORKER_SLOTS * RUN_MIB} MiB; there are {have}.",
            hint=f"Set CREWDESK_WORKER_SLOTS={fits} or less.",
            id="crewdesk.W003",
        )


def _inspectable() -> Iterator[CheckMessage]:
    if settings.INSPECTABLE:
        yield Warning(
            "CREWDESK_INSPECTABLE is on: agents may read keys and passwords in the memory of the processes of their user.",
            hint="Unset CREWDESK_INSPECTABLE when the debugger or profiler has done its work.",
            id="crewdesk.W004",
        )
