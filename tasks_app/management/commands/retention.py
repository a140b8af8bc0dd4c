"""`manage.py retention`: what has aged out by the rules of the settings, counted or removed now."""

import time
from argparse import ArgumentParser
from typing import Any

from tasks_app.domain.errors import Invalid
from tasks_app.execution import ageing
from tasks_app.management.cli import DeskCommand
from tasks_app.services import retention

PAUSE_S = 0.02
"""Between two batches a worker that waits for the database has its turn."""
NO_RULE = (
    "Nothing ages out: no rule is set. Set CREWDESK_KEEP_STEPS_DAYS, CREWDESK_KEEP_TRANSCRIPTS_DAYS or CREWDESK_KEEP_EVENTS_DAYS."
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
        if not rules:
            raise Invalid(NO_RULE, field="CREWDESK_KEEP_STEPS_DAYS")
        found = retention.due(rules)
        while given["now"] and retention.sweep(rules):
            time.sleep(PAUSE_S)
        if given["json"]:
            self.print_json({"removed" if given["now"] else "due": found})
            return 0
        for kind, count in found.items():
            days = getattr(rules, kind)
            verb = "removed" if given["now"] else "would be removed"
            self.stdout.write(f"{kind}: {count:,} rows older than {days:g} days {verb}")
        return 0
