"""What all commands share: expected failures become sentences and exit code 2, results one JSON document or text for people."""

import difflib
import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, ProgrammingError
from rich.console import RenderableType

from tasks_app.domain.errors import DomainError, Invalid, NotFound, Unavailable
from tasks_app.domain.ids import parse_task_label
from tasks_app.domain.text import mask_secrets, one_line
from tasks_app.management import prepare, sign_in
from tasks_app.management.entry import BAD_INPUT, INTERRUPTED
from tasks_app.management.screen import console_for
from tasks_app.management.words import COMMAND
from tasks_app.selectors import access, accounts, tasks, teams
from tasks_app.selectors.accounts import Account
from tasks_app.selectors.tasks import TaskCard
from tasks_app.selectors.teams import TeamSummary

UNAVAILABLE = 1
NO_DATABASE = "The database cannot be used: {}. Check DATABASE_URL and that the server runs; `uv run manage.py doctor` says more."
NOT_PREPARED = "The database has no tables yet, or old ones ({}). `uv run manage.py up` prepares it."

DJANGO_OPTIONS = (
    *("--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color", "--skip-checks"),
)
"""They work, and are not worth a line in every help text."""


class VerbParser(CommandParser):
    """The parser of one verb of a command: what it does not know is refused with its own usage, not with that of the command."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Return what was given. Ends, or raises `CommandError`, where there is more."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest


class DeskCommand(BaseCommand):
    """A command that prints for people, or one JSON document with `--json`. Subclasses write `act` and return the exit code."""

    requires_system_checks = ()
    needs_database = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.suppressed_base_arguments = set(DJANGO_OPTIONS)
        self.plain = False

    def add_json(self, parser: ArgumentParser) -> None:
        """Add the option that every command has."""
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def add_verbs(self, parser: ArgumentParser, names: str) -> Any:
        """Begin the verbs of a command, `names` as its usage shows them; each is added by `add_parser`."""
        return parser.add_subparsers(dest="verb", required=True, metavar=names, parser_class=VerbParser)

    def act(self, given: dict[str, Any]) -> int:
        """Do the work and return the exit code. May raise `DomainError`."""
        raise NotImplementedError

    def run_from_argv(self, argv: list[str]) -> None:
        """Run it as a program; with `--json` wrong arguments are one JSON document as well, not the usage of argparse."""
        if "--json" in argv:
            try:
                self.create_parser(argv[0], argv[1]).parse_args(argv[2:])  # raises, as Django does not call it a program yet
            except CommandError as error:
                sys.exit(self._refuse(Invalid(str(error).removeprefix("Error: "), field="arguments"), as_json=True))
        super().run_from_argv(argv)

    def handle(self, *args: Any, **given: Any) -> None:
        self.plain = given.get("no_color", False)
        if os.environ.get("NO_COLOR"):
            self.stderr.style_func = None
        code = self._acted(given)
        if code:
            sys.exit(code)

    def _acted(self, given: dict[str, Any]) -> int:
        as_json = given.get("json", False)
        try:
            if self.needs_database:
                prepare.reach()
            return self.act(given)
        except DomainError as error:
            return self._refuse(error, as_json=as_json)
        except DatabaseError as error:
            reason = one_line(mask_secrets(str(error)), 200).rstrip(".")
            missing = isinstance(error, ProgrammingError) or "no such" in reason
            return self._refuse(Unavailable((NOT_PREPARED if missing else NO_DATABASE).format(reason)), as_json=as_json)
        except KeyboardInterrupt:
            self.stderr.write("Interrupted.", ending="\n")
            return INTERRUPTED

    def print_json(self, value: Any, *, compact: bool = False) -> None:
        """Print one JSON document, on one line with `compact`; dates and decimals as text."""
        self.stdout.write(json.dumps(value, ensure_ascii=False, default=str, indent=None if compact else 2))

    def show(self, what: RenderableType) -> None:
        """Print something that rich can draw."""
        console_for(cast(IO[str], self.stdout), plain=self.plain).print(what)

    def _refuse(self, error: DomainError, *, as_json: bool) -> int:
        problems = error.problems if isinstance(error, Invalid) else ()
        self.stderr.write(error.message, ending="\n")
        for problem in problems:
            if not error.message.endswith((str(problem), problem.message)):
                self.stderr.write(f"  {problem}", ending="\n")
        if as_json:
            listed = [{"message": p.message, "path": p.path, "line": p.line, "fix": p.fix} for p in problems]
            self.print_json({"error": {"code": error.code, "message": error.message, "field": error.field, "problems": listed}})
        return UNAVAILABLE if isinstance(error, Unavailable) else BAD_INPUT


def actor() -> str:
    """Return who acts at the terminal: the first superuser, who owns this home."""
    return f"user:{sign_in.ensure_lead().username}"


def find_team(name: str) -> TeamSummary:
    """Return the team of that address or name. Raises `NotFound` that names what is close."""
    summaries = list(teams.summaries(list(access.team_ids())).values())
    found = [team for team in summaries if team.slug == name] or [
        team for team in summaries if team.name.casefold() == name.casefold()
    ]
    if found:
        return found[0]
    slugs = [team.slug for team in summaries]
    raise NotFound(f"There is no team “{one_line(name, 60)}”.{_hint(name, slugs, none='There is no team yet.')}", field="team")


def find_account(name: str) -> Account:
    """Return the account of that name. Raises `NotFound` that names what is close, and how all are listed."""
    found = accounts.named(name)
    if found is None:
        hint = _hint(name, accounts.names(), none="There is none yet.")
        raise NotFound(f"There is no account “{one_line(name, 60)}”.{hint} See {COMMAND} account list", field="name")
    return found


def find_task(team: TeamSummary, label: str) -> TaskCard:
    """Return the task `T-3` (or `3`) of the team. Raises `NotFound`."""
    number = parse_task_label(label)
    cards = tasks.of_teams([team.pk])[team.pk]
    found = next((card for card in cards if card.number == number), None)
    if found is None:
        known = f"It has T-1 to T-{cards[-1].number}." if cards else "It has no task."
        raise NotFound(f"{team.name} has no task “{one_line(label, 40)}”. {known}", field="task")
    return found


def _hint(name: str, known: Sequence[str], *, none: str) -> str:
    if not known:
        return f" {none}"
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {close[0]}?" if close else f" There are: {', '.join(known[:12])}."
