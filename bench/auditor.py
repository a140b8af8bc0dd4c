"""The program that audits an installation: see `bench/audit.py`. CREWDESK_HOME (or DATABASE_URL) says which.

It prints one line per violation. Exit codes: 0 no violation, 1 violations, 2 there is nothing here that could be audited.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError

if TYPE_CHECKING:
    from bench.audit import Report

NOTHING_HERE = 2


def arguments() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.auditor", description="Prove that nothing was lost or done twice.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--done", action="store_true", help="every task must also be completed")
    parser.add_argument(
        "--whole", action="store_true", help="no retention rule was ever set: the oldest events and steps must be there, too"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report; returns the exit code."""
    given = arguments().parse_args(argv)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    try:
        _must_be_there()
        django.setup()
        found = _audit(given)
    except (DatabaseError, ImproperlyConfigured) as error:
        text = import_module("tasks_app.domain.text")
        print(f"This installation cannot be audited: {text.one_line(text.mask_secrets(str(error)), 300)}", file=sys.stderr)
        return NOTHING_HERE
    if not found.teams:
        print(f"There is no team in {where()}.", file=sys.stderr)
        return NOTHING_HERE
    print(json.dumps(asdict(found)) if given.json else "\n".join(lines(found)))
    return 1 if found.violations else 0


def _must_be_there() -> None:
    """Looked for before Django is set up, which would make the file."""
    found = settings.DATABASES["default"]
    if "sqlite" in found["ENGINE"] and not Path(found["NAME"]).exists():
        raise DatabaseError(f"there is no {found['NAME']}. CREWDESK_HOME names the home that `up` prints")


def _audit(given: argparse.Namespace) -> "Report":
    audit, prepare = (import_module(name) for name in ("bench.audit", "tasks_app.management.prepare"))  # models are there now
    prepare.reach()
    found: Report = audit.audit(must_be_done=given.done, must_be_whole=given.whole)
    return found


def where() -> str:
    """Return which installation it is, without a password."""
    found = settings.DATABASES["default"]
    return f"the database {found['NAME']} on {found['HOST']}" if found.get("HOST") else str(found["NAME"])


def lines(found: "Report") -> Iterator[str]:
    """Yield what it says to people."""
    yield f"{found.teams} teams, {found.tasks} tasks, {found.runs} runs, {found.events} events, {found.handoffs} takeovers"
    if found.cut:
        yield f"the oldest events of {found.cut} teams are not there: tasks, runs and requests are not checked in them"
    if found.short:
        yield f"the oldest steps of {found.short} runs are not there"
    checked = "in what was checked, " if found.cut or found.short else ""
    yield from found.violations or (f"{checked}nothing was lost, nothing was done twice",)


if __name__ == "__main__":
    sys.exit(main())
