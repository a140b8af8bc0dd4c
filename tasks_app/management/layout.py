"""The processes of a desk: the very commands that docs/operations.md gives for running each by hand."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tasks_app.management.service import Service

ROOT = Path(__file__).resolve().parents[2]
WEB_OPTIONS = (
    "--websocket-max-message-size", "1048576",  # holds for what is sent, too: dashboard/live/frames.py
    "--websocket-max-frame-size", "65536",
    "--ping-interval", "20",
    "--ping-timeout", "20",
    "--application-close-timeout", "5",
    "--verbosity", "0",  # the access log would keep sign-in links
    "--no-server-name",
)  # fmt: skip
WORKER_LOADS = (
    "tasks_app.jobs",
    "dashboard.worker",
    "tasks_app.runners.claude.session",  # the SDK: else the first run waits for it
    "tasks_app.rehearsal.server",
)


def web(port: int, *, home: Path, env: Mapping[str, str], number: int = 1, fd: int | None = None) -> Service:
    """Return web server `number` on 127.0.0.1:`port`, or on the listening socket `fd` that several share."""
    where = ("--bind", "127.0.0.1", "--port", str(port)) if fd is None else ("--fd", str(fd))
    argv = (sys.executable, "-m", "daphne", *where, *WEB_OPTIONS, "dashboard.asgi:application")
    title, log = ("web server", "web.log") if number == 1 else (f"web server {number}", f"web-{number}.log")
    return Service(title, argv, home / "log" / log, env, ROOT, keep=() if fd is None else (fd,))


def worker(number: int, *, home: Path, env: Mapping[str, str]) -> Service:
    """Return worker `number`; it has room for as many runs as `CREWDESK_WORKER_SLOTS` of its environment says."""
    argv = (sys.executable, "-m", "dashboard.worker", "--hostname", f"crewdesk-{number}@%h")
    title = "worker" if number == 1 else f"worker {number}"
    return Service(title, argv, home / "log" / f"worker-{number}.log", env, ROOT, loads=WORKER_LOADS)


def environment(*, home: Path, rehearse: bool) -> dict[str, str]:
    """Return the environment of the children: ours, with the home spelled out and the rehearsal switched on where asked."""
    env = {"DJANGO_SETTINGS_MODULE": "dashboard.settings", **os.environ, "CREWDESK_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    if rehearse:
        env["CREWDESK_REHEARSE"] = "1"
    return env
