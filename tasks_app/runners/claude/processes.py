"""Finds and ends every process of a run on this host, by marker, descent, session and group; never an unrelated one.

A process is named by (pid, start time), so a pid that was given to somebody else in between is left alone.
Works on Linux (`/proc/<pid>/environ`) and macOS (`psutil.Process.environ`) for the processes of this user.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import psutil

from tasks_app.runners.claude.launcher import MARKER, parse_marker

TERM_S = 2.0
"""How long TERM may take before KILL."""
GONE_S = 10.0
"""How long to look until the last process is seen gone after KILL."""
LOOK_S = 0.05
PRIVATE = ("HOME", "CLAUDE_CONFIG_DIR", "TMPDIR")
"""What names the private folder of a life in the environment of its processes."""


@dataclass(frozen=True)
class Marked:
    """A live process that carries a run's marker."""

    pid: int
    started: float  # Unix seconds, as the kernel says; names the process together with its pid
    run_id: str
    fence: int
    folders: tuple[str, ...] = ()  # what its environment says are its private ones

    def is_below(self, folder: str) -> bool:
        """Whether it is one of those that have their private folders below this one."""
        return any(own.startswith(f"{folder}/") for own in self.folders)


@dataclass(frozen=True)
class _Row:
    """One line of the process table."""

    process: psutil.Process
    pid: int
    started: float  # read with the rest: asked for later, a process may be gone
    ppid: int
    group: int
    session: int


def marked() -> list[Marked]:
    """Return every live process on this host that carries a marker, whoever's run it is."""
    found = (_read_marker(process) for process in _processes())
    return [one for one in found if one is not None]


async def kill_run(run_id: str, *, below_fence: int | None = None, term_s: float = TERM_S, gone_s: float = GONE_S) -> bool:
    """End all processes of a run (only of fences below `below_fence`, where given); return whether they are seen gone: `kill`."""

    def of_run(one: Marked) -> bool:
        return one.run_id == run_id and (below_fence is None or one.fence < below_fence)

    return await kill(of_run, term_s=term_s, gone_s=gone_s)


async def kill(wanted: Callable[[Marked], bool], *, term_s: float = TERM_S, gone_s: float = GONE_S) -> bool:
    """End all that is `wanted` and what belongs to it; return whether all is seen gone.

    TERM, then after `term_s` KILL; 0 kills at once. Looks again until nothing is found, so what is forked meanwhile dies too.
    What was found once is not lost when its parent is gone first: macOS hides the marker of its own programs.
    """
    known: set[tuple[int, float]] = set()
    term_until = time.monotonic() + term_s
    end = term_until + gone_s
    termed: set[tuple[int, float]] = set()
    while time.monotonic() < end:
        victims = await asyncio.to_thread(_victims, wanted, known)
        if not victims:
            return True
        known |= {(row.pid, row.started) for row in victims}
        _signal(victims, None if time.monotonic() >= term_until else termed)
        await asyncio.sleep(LOOK_S)
    return not await asyncio.to_thread(_victims, wanted, known)


def _signal(victims: Iterable[_Row], termed: set[tuple[int, float]] | None) -> None:
    """Send TERM once to each (remembered in `termed`), or KILL where `termed` is None; psutil refuses a reused pid."""
    for row in victims:
        with suppress(psutil.Error):
            if termed is None:
                row.process.send_signal(signal.SIGKILL)
            elif (identity := (row.pid, row.started)) not in termed:
                termed.add(identity)
                row.process.send_signal(signal.SIGTERM)


def _processes() -> Iterator[psutil.Process]:
    """Every process, each call afresh: `psutil.process_iter` keeps a table that threads would share."""
    for pid in psutil.pids():
        with suppress(psutil.Error):
            yield psutil.Process(pid)


def _read_marker(process: psutil.Process) -> Marked | None:
    try:
        environment = process.environ()
        found = parse_marker(environment.get(MARKER, ""))
        if found is None or process.status() == psutil.STATUS_ZOMBIE:
            return None
        return Marked(process.pid, process.create_time(), *found, tuple(environment.get(name, "") for name in PRIVATE))
    except (psutil.Error, OSError, SystemError):  # gone, a kernel thread, or somebody else's; on macOS psutil 7.2 may break
        return None


def _victims(wanted: Callable[[Marked], bool], known: set[tuple[int, float]]) -> list[_Row]:
    """What is marked and wanted, and what is known: with all that descends from it and all in sessions and groups it leads."""
    named = [one for one in marked() if wanted(one)]
    if not (named or known):
        return []
    spared = _self_and_ancestors()
    table = [row for row in _table() if row.pid not in spared]
    identities = known | {(one.pid, one.started) for one in named}
    pids = {row.pid for row in table if (row.pid, row.started) in identities}
    grown = True
    while grown:
        more = {row.pid for row in table if {row.ppid, row.group, row.session} & pids} - pids
        grown = bool(more)
        pids |= more
    return [row for row in table if row.pid in pids]


def _table() -> list[_Row]:
    rows = []
    for process in _processes():
        with suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE:
                ids = (process.ppid(), os.getpgid(process.pid), os.getsid(process.pid))
                rows.append(_Row(process, process.pid, process.create_time(), *ids))
    return rows


def _self_and_ancestors() -> set[int]:
    with suppress(psutil.Error):
        own = psutil.Process()
        return {own.pid, *(parent.pid for parent in own.parents())}
    return {os.getpid()}
