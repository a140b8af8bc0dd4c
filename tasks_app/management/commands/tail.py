"""`manage.py tail`: the log of a team, and what comes next."""

import contextlib
import time
from argparse import ArgumentParser
from typing import Any

from django.db import close_old_connections

from tasks_app.domain.errors import Invalid
from tasks_app.management import words
from tasks_app.management.cli import DeskCommand, find_team
from tasks_app.selectors import journal, sentences
from tasks_app.selectors.journal import Entry

LOOK_S = 0.5


class Command(DeskCommand):
    help = "Print the last events of a team; with --follow go on until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("team", help="address or name of the team")
        parser.add_argument("--follow", "-f", action="store_true", help="go on as events come")
        parser.add_argument("--lines", "-n", type=int, default=20, help="how many of the last events (20)")
        parser.add_argument("--after", type=int, help="all events after this sequence number instead")
        parser.add_argument("--json", action="store_true", help="one JSON document per line and event")

    def act(self, given: dict[str, Any]) -> int:
        if given["lines"] < 0 or (given["after"] or 0) < 0:
            raise Invalid("--lines and --after are numbers from 0 on.", field="lines")
        team = find_team(given["team"])
        seq = given["after"] if given["after"] is not None else max(0, team.last_seq - given["lines"])
        with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
            while True:
                seq, more = self._print(team.pk, seq, as_json=given["json"])
                if not more and not given["follow"]:
                    break
                if not more:
                    close_old_connections()
                    time.sleep(LOOK_S)
        return 0

    def _print(self, team_id: int, seq: int, *, as_json: bool) -> tuple[int, bool]:
        entries = journal.entries(team_id, after=seq)
        for entry in entries:
            if as_json:
                self.print_json(_as_json(entry), compact=True)
            else:
                self.stdout.write(words.line(entry))
        self.stdout.flush()
        return (entries[-1].seq if entries else seq), bool(entries)


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
