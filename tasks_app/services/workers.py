"""Workers: their heartbeat, which is also how a stop or a lost lease reaches them."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
from django.db import transaction
from django.utils import timezone

from tasks_app.domain.statuses import RunStatus
from tasks_app.models import Run, Worker
from tasks_app.runners.port import Directive
from tasks_app.services import worktime
from tasks_app.services.clock import DatabaseNow, now_s

ON_LINUX = sys.platform == "linux"
FORGOTTEN_S = 24 * 3600.0
"""Nobody can look at the processes of another host, and in a cluster each new worker is one, whose end nobody tells."""


@transaction.atomic
def register(name: str, *, host: str, slots: int, has_key: bool) -> None:
    """Remember a worker process; forget those of this host whose process is gone, and whoever has been silent for a day.

    One that was only asleep for so long registers again (`is_registered`).
    """
    now = now_s()
    Worker.objects.filter(seen_at__lt=now - FORGOTTEN_S).exclude(host=host).delete()
    for other in Worker.objects.filter(host=host).exclude(name=name):
        if not psutil.pid_exists(other.pid) or (other.seen_at < now - FORGOTTEN_S and not lives(other.name)):
            other.delete()
    Worker.objects.update_or_create(
        name=name,
        defaults={
            "host": host,
            "pid": os.getpid(),
            "started_at": timezone.now(),
            "seen_at": now,
            "slots": slots,
            "has_key": has_key,
        },
    )


def is_registered(name: str) -> bool:
    """Whether the worker is remembered."""
    return Worker.objects.filter(name=name).exists()


def heartbeat(name: str, *, held: Mapping[str, int]) -> dict[str, Directive]:
    """Renew the leases of everything this worker holds (run id → fence) by one UPDATE; answer what each run is to do.

    The runs are locked in the order of their ids, as `steps.record_all` does: each waits for the other at most once.
    """
    Worker.objects.filter(name=name).update(seen_at=DatabaseNow())
    mine_now = Run.objects.filter(worker=name, status=RunStatus.RUNNING.value, pk__in=list(held))
    worktime.renew(mine_now)
    rows = Run.objects.filter(pk__in=list(held), status=RunStatus.RUNNING.value, worker=name).values_list(
        "pk", "fence", "stop_asked_at"
    )
    mine = {pk: Directive.STOP if stop else Directive.GO_ON for pk, fence, stop in rows if held[pk] == fence}
    return {pk: mine.get(pk, Directive.LOST) for pk in held}


def leave(name: str) -> None:
    """The worker has ended in order."""
    Worker.objects.filter(name=name).delete()


def gone_from(host: str, *, alive: str) -> list[str]:
    """Names of workers that hold runs on this host but whose process is gone; `alive` is the caller."""
    holders = Run.objects.filter(host=host, status=RunStatus.RUNNING.value).values_list("worker", flat=True).distinct()
    return [name for name in holders if name != alive and not lives(name)]


def siblings(host: str, *, of: str) -> set[str]:
    """Names of the other workers of this host whose process lives."""
    others = Worker.objects.filter(host=host).exclude(name=of).values_list("name", flat=True)
    return {name for name in others if lives(name)}


def lives(name: str) -> bool:
    """`host:pid:start` names a live process only when a process of that pid started at that moment."""
    rest, _, start = name.rpartition(":")
    pid = rest.rpartition(":")[2]
    return bool(start) and pid.isdigit() and _start(int(pid)) == start


def name_of_this_process(host: str) -> str:
    """Return `host:pid:start`; no two lives of a worker share it."""
    return f"{host}:{os.getpid()}:{_start(os.getpid())}"


def _start(pid: int) -> str:
    """When a process started: ticks since the boot, which no clock can move; elsewhere its second. Empty: it is gone."""
    try:
        if not ON_LINUX:
            process = psutil.Process(pid)
            return "" if process.status() == psutil.STATUS_ZOMBIE else str(int(process.create_time()))
        # proc(5): what follows the name in brackets begins with field 3, the state; the start is field 22
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    except (OSError, psutil.Error):
        return ""
