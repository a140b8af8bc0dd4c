"""`manage.py backup`: make, list, verify and restore backups of every team."""

from argparse import ArgumentParser
from typing import Any

from tasks_app.domain.errors import Invalid, Unavailable
from tasks_app.management import prepare, sign_in, trial
from tasks_app.management.cli import DeskCommand
from tasks_app.management.words import COMMAND, counted
from tasks_app.services import backups


class Command(DeskCommand):
    help = "Make a backup of every team now, list those that are there, verify or restore one (docs/backups.md)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = self.add_verbs(parser, "now|list|verify|restore")
        self.add_json(verbs.add_parser("now", help="make one, restore it on trial, keep it"))
        self.add_json(verbs.add_parser("list", help="those that are there, and what failed, the newest last"))
        for verb, text in {
            "verify": "restore one into a scratch database and compare every row",
            "restore": "bring back every team of one whose name is free here; they are paused",
        }.items():
            one = verbs.add_parser(verb, help=text)
            one.add_argument("name", help="its name, as in `backup list`")
            if verb == "restore":
                one.add_argument("--team", default="", help="only the team of this address")
                one.add_argument("--as", default="", dest="called", metavar="NAME", help="with --team: under another name")
            self.add_json(one)
        trying = verbs.add_parser("try")  # what a backup calls in a scratch home
        trying.add_argument("files", nargs="*")
        self.add_json(trying)

    needs_database = False  # `try` makes its own first

    def act(self, given: dict[str, Any]) -> int:
        verb, as_json = given["verb"], given["json"]
        if verb == "now":
            return self._now(as_json)
        if verb == "list":
            return self._list(as_json)
        if verb == "try":
            self.print_json({"teams": trial.run(given["files"])})
            return 0
        return self._verify(given["name"], as_json) if verb == "verify" else self._restore(given)

    def _now(self, as_json: bool) -> int:
        backups.must_have_a_place()  # what is refused is no try: it is kept nowhere
        made = backups.take()
        if made.error:
            raise Unavailable(f"No backup was made: {made.error}")
        if as_json:
            self.print_json({"name": made.name, "teams": made.teams, "bytes": made.size, "verified": made.verified})
        else:
            self.stdout.write(f"{made.name}: {counted(made.teams, 'team')}, {made.size / 2**20:.1f} MB, restored on trial.")
        return 0

    def _list(self, as_json: bool) -> int:
        there, tries = backups.names(), backups.tries()
        if as_json:
            rows = [{"name": t.name, "at": t.started_at.isoformat(), "verified": t.verified, "error": t.error} for t in tries]
            self.print_json({"backups": there, "tries": rows})
            return 0
        lines = {name: name for name in there}  # a name begins with the time, so that of a try which failed, too
        lines |= {one.name: f"{one.started_at:%Y-%m-%d %H:%M} UTC failed: {one.error}" for one in tries if one.error}
        for _, line in sorted(lines.items()):
            self.stdout.write(line)
        if not there:
            self.stdout.write(f"There is no backup yet: {COMMAND} backup now")
        return 0

    def _verify(self, name: str, as_json: bool) -> int:
        with backups.fetched(name) as local:
            found = backups.try_out(local)
        if as_json:
            self.print_json({"name": name, "teams": found})
            return 0
        for team in found:
            came = (counted(team[table], word) for table, word in (("tasks", "task"), ("runs", "attempt"), ("events", "event")))
            self.stdout.write(f"{team['name']}: {', '.join(came)} came back")
        self.stdout.write(f"{name} can be restored.")
        return 0

    def _restore(self, given: dict[str, Any]) -> int:
        name, team, called = given["name"], given["team"], given["called"]
        if called and not team:
            raise Invalid("Say with --team which one gets the name of --as.", field="team")
        prepare.everything()
        user = sign_in.ensure_lead()
        back, stayed = backups.restore(name, user_id=user.pk, actor=f"user:{user.username}", team=team, called=called)
        if given["json"]:
            self.print_json({"restored": [made.slug for made in back], "refused": [one.why for one in stayed]})
            return 0
        for made in back:
            self.stdout.write(f"{made.slug} is back, paused: {COMMAND} team resume {made.slug}")
        for one in stayed:
            self.stdout.write(f"Left out: {one.why}\n  {COMMAND} backup restore {name} --team {one.slug} --as NAME")
        return 0
