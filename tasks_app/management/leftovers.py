"""What agents have left running (a shell in the background, say) when the last worker of this home is gone: it is ended too."""

import asyncio

import psutil
from django.db import DatabaseError

from tasks_app.runners.claude import processes
from tasks_app.selectors import journal, workers
from tasks_app.services import hosts


def end() -> int:
    """End every process of this home's runs on this host and return of how many runs; nothing while a worker lives here."""
    marked = {one.run_id for one in processes.marked()}
    if not marked:
        return 0
    try:
        if any(psutil.pid_exists(worker.pid) for worker in workers.alive(host=hosts.this_host())):
            return 0
        mine = journal.known_runs(marked)
    except DatabaseError:
        return 0  # whose they are cannot be told: the next worker that takes such a run up ends them
    for run_id in sorted(mine):
        asyncio.run(processes.kill_run(run_id, term_s=0, gone_s=2))
    return len(mine)
