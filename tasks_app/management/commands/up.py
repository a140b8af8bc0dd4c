"""`manage.py up`: everything that Crewdesk needs, in one command."""

import sys
from argparse import ArgumentParser
from dataclasses import replace
from typing import Any

from tasks_app.management import desk
from tasks_app.management.cli import DeskCommand
from tasks_app.management.screen import Screen, console_for

USUAL = desk.Options()


class Command(DeskCommand):
    help = "Set everything up and run it: database, embedded Valkey, web server, workers. Ctrl-C ends it."
    needs_database = False  # it is made or brought to this version, or what is wrong with it is said

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, help=f"port on 127.0.0.1 ({USUAL.port})")
        parser.add_argument("--no-browser", action="store_true", help="print the sign-in link, open nothing")
        parser.add_argument("--workers", type=int, help=f"number of worker processes ({USUAL.workers})")
        parser.add_argument("--webs", type=int, help=f"number of web server processes behind the port ({USUAL.webs})")
        parser.add_argument("--rehearse", action="store_true", help="new teams are rehearsed: the model's replies are scripted")

    def act(self, given: dict[str, Any]) -> int:
        numbers = {name: given[name] for name in ("port", "workers", "webs") if given[name] is not None}
        typed = [f"--{name} {number}" for name, number in numbers.items()] + ["--rehearse"] * given["rehearse"]
        options = replace(USUAL, browser=not given["no_browser"], rehearse=given["rehearse"], typed=tuple(typed), **numbers)
        return desk.run(options, Screen(console_for(sys.stdout, plain=self.plain)))
