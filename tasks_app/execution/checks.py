"""Runs one command that proves a criterion: clean environment, time limit, capped output, its whole process group ended after."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tasks_app.domain.text import clean, mask_secrets, strip_ansi
from tasks_app.runners.claude.launcher import STARTER

SHELL = "/bin/sh"
KEPT_BYTES = 64_000
"""Of the end of what a command prints; the rest is read and thrown away."""
TAIL_LINES = 20
TAIL_CHARS = 2_000
DRAIN_S = 1.0
"""How long the output of a command that has ended is still read: a process it left behind may hold the pipe open."""


@dataclass(frozen=True)
class Ran:
    """How a command ended. `exit_code`: None where it was ended (`why`); negative: by that signal. `tail`: its last lines."""

    exit_code: int | None
    tail: str
    seconds: float
    why: str = ""


async def run(command: str, *, cwd: Path, home: Path, env: Mapping[str, str], limit_s: float, stop: asyncio.Event) -> Ran:
    """Run `command` in a shell and return how it ended; when the limit is over or `stop` is set, its group is killed.

    Like an agent's process it dies with this worker. Never raises for what the command does.
    """
    began = time.monotonic()
    orders = {
        "CREWDESK_KEEP": ",".join(env),
        "CREWDESK_CLI": SHELL,
        "CREWDESK_PARENT": str(os.getpid()),
        "CREWDESK_PIDFILE": str(home / "check.pid"),
    }
    read_end, write_end = os.pipe()  # our own: of a pipe of asyncio's, `wait` would wait until everybody has let go
    printed, transport = await _reader(read_end)
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(STARTER), "-c", command),
            cwd=cwd,
            env={**env, **orders},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
        )
    except (OSError, ValueError) as error:
        transport.close()
        return Ran(None, "", 0.0, f"it could not be started: {error}")
    finally:
        os.close(write_end)
    kept = bytearray()
    reading = asyncio.create_task(_read(printed, kept))
    try:
        why = await _until_over(process, limit_s, stop)
    finally:
        _kill(process)
        await process.wait()
        await asyncio.wait({reading}, timeout=DRAIN_S)
        reading.cancel()
        transport.close()
    return Ran(None if why else process.returncode, tail(bytes(kept)), time.monotonic() - began, why)


async def _reader(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    printed = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(printed)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(descriptor, "rb"))
    return printed, transport


async def _until_over(process: asyncio.subprocess.Process, limit_s: float, stop: asyncio.Event) -> str:
    """Wait for its end; returns why it has to be ended, or nothing."""
    over, asked = asyncio.create_task(process.wait()), asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait({over, asked}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        asked.cancel()
    if over in done:
        return ""
    return "the attempt is being ended" if asked in done else f"it took longer than {limit_s:g} s and was ended"


async def _read(printed: asyncio.StreamReader, kept: bytearray) -> None:
    while chunk := await printed.read(65_536):
        kept += chunk
        del kept[:-KEPT_BYTES]


def _kill(process: asyncio.subprocess.Process) -> None:
    """Whatever is left of it: its starter makes it the leader of its own group, unless it has not come to that yet."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()


def tail(printed: bytes) -> str:
    """Return the last lines of what was printed: harmless, without secrets, at most `TAIL_CHARS` characters."""
    text = mask_secrets(strip_ansi(clean(printed.decode("utf-8", "replace")))).rstrip()
    return "\n".join(line.rstrip() for line in text.splitlines()[-TAIL_LINES:])[-TAIL_CHARS:]
