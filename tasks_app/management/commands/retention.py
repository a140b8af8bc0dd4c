"""`manage.py retention`: what has aged out by the rules of the settings, and snapshots that nothing names, counted or removed."""

import time
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from tasks_app.execution import ageing
from tasks_app.management.cli import DeskCommand
from tasks_app.services import pruning, retention

PAUSE_S = 0.02
"""Between two batches a worker that waits for the database has its turn."""
NO_RULE = (
    "No rule is set, so no rows age out: CREWDESK_KEEP_STEPS_DAYS, CREWDESK_KEEP_TRANSCRIPTS_DAYS, CREWDESK_KEEP_EVENTS_DAYS "
    "or CREWDESK_KEEP_SNAPSHOTS_DAYS set one."
)


class Command(DeskCommand):
    help = "Count (--dry-run) or remove (--now) what has aged out; workers do the latter by themselves every ten minutes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--dry-run", action="store_true", help="only say how much would be removed")
        what.add_argument("--now", action="store_true", help="remove it, in small batches")
        self.add_json(parser)

    def act(self, given: dict[str, Any]) -> int:
        rules = ageing.rules()
        found = retention.due(rules)
        while given["now"] and retention.sweep(rules):
            time.sleep(PAUSE_S)
        files = pruning.everything() if given["now"] else pruning.Pruned(pruning.all_unneeded())
        if given["json"]:
            self.print_json({"removed" if given["now"] else "due": found, "files": asdict(files)})
            return 0
        if not rules:
            self.stdout.write(NO_RULE)
        for kind, count in found.items():
            self.stdout.write(_line(kind, count, getattr(rules, kind), now=given["now"]))
        self.stdout.write(_of_files(files, now=given["now"]))
        return 0


def _line(kind: str, count: int, days: float, *, now: bool) -> str:
    if kind == "snapshots":
        return (
            f"snapshots: {count:,} finished attempts older than {days:g} days {'let' if now else 'would let'} go of their files"
        )
    return f"{kind}: {count:,} rows older than {days:g} days {'removed' if now else 'would be removed'}"


def _of_files(files: pruning.Pruned, *, now: bool) -> str:
    if not now:
        return f"files: {files.snapshots:,} snapshots that nothing names would be removed"
    return f"files: {files.snapshots:,} snapshots that nothing names removed, {files.freed / 2**20:,.1f} MiB of disk freed"
