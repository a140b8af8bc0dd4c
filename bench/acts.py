"""What the killer does to processes, clock, disk and database: each act is done, its effect is looked for and told in words."""

import contextlib
import errno
import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil
from django.db import DatabaseError

from bench import twin
from bench.desk import Desk, has_ended, kill_group, of_home, until
from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import RunStatus
from tasks_app.models import Run, Worker
from tasks_app.services.clock import now_s

FREEZE_S = LEASE_S + 4.0
"""Longer than a lease and a sweep: somebody else has the frozen worker's runs when it goes on."""
FREEZE_MOST_S = 50.0
"""A lease may last longer where the clock was set back; after a minute `up` ends what stands still."""
FULL_S = 2.5
TWIN_S, TWIN_MOST_S = 6.0, 12.0
GONE_S, READY_S = 10.0, 40.0
NEAR_S = 5.0
"""A clock that was read within so long of what it was set to has jumped."""


class NothingToDo(Exception):
    """There is nobody just now to whom it could be done; it comes again."""


class NoEffect(Exception):
    """It was done, and what must come of it was not seen."""


@dataclass
class Frozen:
    """A worker that was stopped at a moment, and the lives (run → fence) that it held then."""

    process: psutil.Process
    at: float
    held: dict[str, int] = field(default_factory=dict)


@dataclass
class Scene:
    """The installation, chance, and whether the team has come to its end meanwhile."""

    desk: Desk
    chance: random.Random
    stopped: threading.Event = field(default_factory=threading.Event)
    frozen: list[Frozen] = field(default_factory=list)

    @property
    def home(self) -> Path:
        """The home of the installation."""
        return self.desk.place.home

    def pick(self, kind: str) -> psutil.Process:
        """Return a process of that kind that goes on; of workers one with agents, where there is one. Raises `NothingToDo`."""
        still = {each.process.pid for each in self.frozen}
        found = [process for process in of_home(self.home, kind) if process.pid not in still]
        if kind == "worker":  # an idle one is no loss
            busy = {process.ppid() for process in of_home(self.home, "claude")}
            found = [process for process in found if process.pid in busy] or found
        if not found:
            raise NothingToDo(f"there is no {kind}")
        return self.chance.choice(sorted(found, key=lambda process: process.pid))


Act = Callable[[Scene], str | None]
"""Returns what was seen; None: that can be told only later. Raises `NothingToDo`, or anything else where it failed."""


def kill(kind: str, scene: Scene) -> str:
    """`kill -9` of one process of a kind."""
    victim = scene.pick(kind)
    held = held_by(victim.pid) if kind == "worker" else {}
    end(victim)
    return f"pid {victim.pid}, gone" + (f" with {len(held)} runs" if kind == "worker" else "")


def end(victim: psutil.Process) -> None:
    """Kill it and see it gone. Raises `NothingToDo` where it went by itself before, `TooLate` where it stays."""
    try:
        victim.kill()
    except psutil.NoSuchProcess:
        raise NothingToDo(f"pid {victim.pid} had ended by itself") from None
    until(partial(has_ended, victim), seconds=GONE_S, words=f"the end of pid {victim.pid}")


def held_by(pid: int) -> dict[str, int]:
    """Return the lives (run → fence) that the worker with this pid has now."""
    rows = Run.objects.filter(status=RunStatus.RUNNING.value, worker__contains=f":{pid}:")
    return dict(rows.values_list("pk", "fence"))


def freeze(scene: Scene) -> None:
    """Stop a worker that holds runs; what came of it is told by `thaw`."""
    if scene.frozen:
        raise NothingToDo("one is frozen already")
    victim = scene.pick("worker")
    frozen = Frozen(victim, time.monotonic())
    victim.suspend()
    try:
        until(partial(_stands_still, victim), seconds=GONE_S, words=f"the standstill of pid {victim.pid}")
        frozen.held = held_by(victim.pid)
        if not frozen.held:
            raise NothingToDo(f"pid {victim.pid} held no run")
    except BaseException:
        victim.resume()
        raise
    scene.frozen.append(frozen)


def thaw(scene: Scene, frozen: Frozen, *, at_once: bool = False) -> str | None:
    """Let it go on when its leases are over; None: not yet. Raises `NoEffect` where one was not, or it had died."""
    stood_s = time.monotonic() - frozen.at
    last = at_once or stood_s >= FREEZE_MOST_S
    try:
        leases = _leases(scene, frozen)
    except DatabaseError:  # away just now
        leases = list(frozen.held)
    if not last and (leases or stood_s < FREEZE_S):
        return None
    scene.frozen.remove(frozen)
    if has_ended(frozen.process):
        raise NoEffect(f"pid {frozen.process.pid} died while it stood still")
    stood = _stands_still(frozen.process)
    frozen.process.resume()
    if leases or not stood:
        raise NoEffect(f"pid {frozen.process.pid} went on after {stood_s:.0f} s with leases of {len(leases)} runs")
    return f"pid {frozen.process.pid} stood for {stood_s:.0f} s; of its {len(frozen.held)} runs {_taken(frozen)} had a new life"


def _taken(frozen: Frozen) -> int:
    rows = Run.objects.filter(pk__in=frozen.held).values_list("pk", "fence")
    return sum(fence > frozen.held[run] for run, fence in rows)


def _stands_still(process: psutil.Process) -> bool:
    return bool(process.status() == psutil.STATUS_STOPPED)


def _leases(scene: Scene, frozen: Frozen) -> list[str]:
    """The runs that are its own by lease and fence, by the clock that the workers have."""
    place = scene.desk.place
    now = now_s() + (place.clock.offset_s if place.clock is not None and place.cluster is None else 0)
    rows = Run.objects.filter(pk__in=frozen.held, status=RunStatus.RUNNING.value, lease_until__gt=now).values_list("pk", "fence")
    return [run for run, fence in rows if fence == frozen.held[run]]


def double(scene: Scene) -> str:
    """A second worker with the very name of a first, for a while; then it dies without a word."""
    first = scene.pick("worker")
    name = Worker.objects.filter(name__contains=f":{first.pid}:").values_list("name", flat=True).first()
    if name is None:
        raise NothingToDo(f"pid {first.pid} has not registered yet")
    second = scene.desk.extra_worker(1, app=twin.__name__, env={twin.NAME: name})
    try:
        until(
            lambda: scene.stopped.is_set() or second.poll() is not None or _is_registered(name, second.pid),
            seconds=READY_S, words="the registration of the twin", pause_s=0.1,
        )  # fmt: skip
        if second.poll() is not None:
            raise NoEffect(f"the second ended with {second.poll()}")
        if not _is_registered(name, second.pid):
            raise NothingToDo("the team was done before")
        agents = _agents_of(second.pid, scene)
        if has_ended(first) or second.poll() is not None:
            raise NoEffect("one of the two did not live on")
    finally:
        kill_group(second)
    return f"pids {first.pid} and {second.pid} were both {name}, the second with {agents} agents"


def _agents_of(pid: int, scene: Scene) -> int:
    """Watch the twin for a while, longer where it has nothing to do; returns how many agents it had at most.

    Raises `NothingToDo` where the team was done before the while was over.
    """
    most, begun = 0, time.monotonic()
    while time.monotonic() - begun < (TWIN_S if most else TWIN_MOST_S):
        if scene.stopped.wait(0.2):
            raise NothingToDo("the team was done before")
        with contextlib.suppress(psutil.NoSuchProcess):
            most = max(most, sum(process.ppid() == pid for process in of_home(scene.home, "claude")))
    return most


def _is_registered(name: str, pid: int) -> bool:
    return Worker.objects.filter(name=name, pid=pid).exists()


def set_clock(scene: Scene) -> str:
    """Workers and web are an hour off, or right again; on SQLite, whose clock is theirs, a minute: leases end, or last long."""
    clock = scene.desk.place.clock
    assert clock is not None
    far = 3600 if scene.desk.place.cluster is not None else 60
    before = clock.offset_s
    to = scene.chance.choice([offset for offset in (-far, 0, far) if offset != before])
    clock.set(to)
    if abs(clock.seen_s() - to) > NEAR_S:
        raise NoEffect(f"a process reads a clock that is {clock.seen_s():.0f} s off instead of {to}")
    found = of_home(scene.home, "worker") + of_home(scene.home, "web")
    blind = [process.pid for process in found if not clock.moves(process.pid) and not has_ended(process)]
    if blind or not found:
        raise NoEffect(f"of {len(found)} workers and web servers these have the machine's clock: {blind}")
    return f"from {before:+} s to {to:+} s for {len(found)} workers and web servers"


def restart_postgres(scene: Scene) -> str:
    """As after a crash: nothing is flushed."""
    cluster = scene.desk.place.cluster
    assert cluster is not None
    before = cluster.pid()
    cluster.restart()
    if (after := cluster.pid()) == before:
        raise NoEffect(f"pid {before} serves as before")
    return f"pid {before}, then {after}"


def fill_disk(scene: Scene) -> str:
    """The home has no room for a while: whatever is freed is filled again."""
    filler = scene.home / "filler"
    refused, end_at = 0, time.monotonic() + FULL_S
    try:
        with filler.open("wb", buffering=0) as file:
            while time.monotonic() < end_at or not refused:
                if _is_refused(file.fileno()):
                    end_at = end_at if refused else time.monotonic() + FULL_S
                    refused += 1
                    scene.stopped.wait(0.05)
    finally:
        filler.unlink(missing_ok=True)
    return f"no space left on the device, {refused} times in {FULL_S:g} s"


def _is_refused(file: int) -> bool:
    """Whether not one page more could be written; raises what is no want of space."""
    try:
        os.write(file, bytes(1_048_576))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return True
    return False
