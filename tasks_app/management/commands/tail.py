"""`manage.py tail`: the log of a team, and what comes next."""

import contextlib
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.db import close_old_connections

from tasks_app.domain.errors import Invalid
from tasks_app.domain.events import EventKind
from tasks_app.management import words
from tasks_app.management.cli import DeskCommand, find_team
from tasks_app.selectors import history, journal, sentences
from tasks_app.selectors.history import Filter
from tasks_app.selectors.journal import Entry

LOOK_S = 0.5


class Command(DeskCommand):
    help = "Print the last events of a team, each as a sentence; with --follow go on until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("team", help="address or name of the team")
        parser.add_argument("--follow", "-f", action="store_true", help="go on as events come")
        parser.add_argument("--lines", "-n", type=int, default=20, help="how many of the last events (20)")
        parser.add_argument("--after", type=int, metavar="SEQ", help="all events after this sequence number instead")
        parser.add_argument("--steps", action="store_true", help="also that an agent has made steps; --json always has them")
        parser.add_argument("--json", action="store_true", help="one JSON document per line and event")

    def act(self, given: dict[str, Any]) -> int:
        for name in ("lines", "after"):
            if (given[name] or 0) < 0:
                raise Invalid(f"--{name} is a number from 0 on.", field=name)
        team = find_team(given["team"])
        steps, as_json = given["steps"] or given["json"], given["json"]
        seq = given["after"]
        if seq is None:
            seq = team.last_seq
            last = history.page([team.pk], Filter(steps=steps), limit=given["lines"]).entries if given["lines"] else ()
            self._print([entry for entry in reversed(last) if entry.seq <= seq], as_json=as_json, steps=steps)
        with contextlib.suppress(KeyboardInterrupt):
            self._go_on(team.pk, seq, follow=given["follow"], as_json=as_json, steps=steps)
        return 0

    def _go_on(self, team_id: int, seq: int, *, follow: bool, as_json: bool, steps: bool) -> None:
        while True:
            entries = journal.entries(team_id, after=seq)
            self._print(entries, as_json=as_json, steps=steps)
            if entries:
                seq = entries[-1].seq
            elif not follow:
                return
            else:
                close_old_connections()
                time.sleep(LOOK_S)

    def _print(self, entries: Sequence[Entry], *, as_json: bool, steps: bool) -> None:
        for entry in entries:
            if as_json:
                self.print_json(_as_json(entry), compact=True)
            elif steps or entry.kind != EventKind.RUN_STEPS:
                self.stdout.write(words.line(entry, whole=True))
        self.stdout.flush()


def _as_json(entry: Entry) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "kind": entry.kind,
        "at": entry.at.isoformat(),
        "actor": entry.actor,
        "task": entry.task or None,
        "run": entry.run or None,
        "agent": entry.agent or None,
        "decision": entry.decision or None,
        "text": sentences.text(entry),
        "data": entry.data,
    }
