"""`python -m dashboard.worker`: Celery's own worker as Crewdesk needs it.

`celery -A dashboard.celery worker` does the same a third later, and gossips: Celery's command line loads all its other commands
first, a prompt with completion among them, and so long does an agent wait whose worker was killed.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from tasks_app import own_memory

if __name__ == "__main__":
    own_memory.keep_private()  # before what takes long to load

from celery.utils.nodenames import default_nodename, host_format
from django.conf import settings

from tasks_app.loading import uncollected
from tasks_app.starting import in_words

WORKER = {"pool_cls": "threads", "without_gossip": True, "without_mingle": True, "without_heartbeat": True}
"""The database is the queue and keeps the leases: workers need not know of each other through the broker."""
SWITCH_S = 0.001
"""Who is handed the turn to write to SQLite may wait for the interpreter no longer than a transaction takes (Python: 5 ms)."""
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")  # the settings are not read to refuse an argument


def main(arguments: Sequence[str]) -> int:
    """Run a worker until it is told to leave; returns its exit code."""
    given = _parser().parse_args(arguments)
    with uncollected(), in_words():
        app = import_module(given.app).app
        name = host_format(default_nodename(given.hostname))
        level = given.loglevel or settings.LOG_LEVEL  # Celery sets it, whatever the settings say
        worker = app.Worker(concurrency=settings.WORKER_SLOTS, hostname=name, loglevel=level, quiet=True, **WORKER)
    sys.setswitchinterval(SWITCH_S)
    worker.start()
    return int(worker.exitcode or 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dashboard.worker", description="Run agents, until SIGTERM: then they are parked."
    )
    parser.add_argument(
        "--hostname", default="crewdesk-1@%h", metavar="NAME", help="its name; %%h stands for the host's (%(default)s)"
    )
    parser.add_argument("--loglevel", choices=LEVELS, help="(as CREWDESK_LOG_LEVEL says)")
    parser.add_argument(
        "--app", default="dashboard.celery", metavar="MODULE", help="the module with its Celery app (%(default)s)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
