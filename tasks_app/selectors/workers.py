"""Workers as the terminal and health checks see them."""

from dataclasses import dataclass

from django.db.models import F

from tasks_app.domain.leases import LEASE_S
from tasks_app.models import Worker
from tasks_app.selectors.clock import DatabaseNow


@dataclass(frozen=True)
class WorkerFacts:
    """A worker process that has been heard of lately."""

    name: str
    host: str
    pid: int
    slots: int
    silent_s: float
    has_key: bool


def alive(*, host: str = "", silent_s: float = LEASE_S) -> list[WorkerFacts]:
    """Return the workers (of `host`, or of all) whose last heartbeat is at most `silent_s` old; one query."""
    rows = Worker.objects.annotate(silent=DatabaseNow() - F("seen_at")).order_by("name")
    rows = rows.filter(host=host) if host else rows
    found = [WorkerFacts(row.name, row.host, row.pid, row.slots, row.silent, row.has_key) for row in rows]
    return [facts for facts in found if facts.silent_s <= silent_s]
