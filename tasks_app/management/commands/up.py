"""`manage.py up`: everything that Crewdesk needs, in one command."""

import sys
from argparse import ArgumentParser
from typing import Any

from tasks_app.management import desk
from tasks_app.management.cli import DeskCommand
from tasks_app.management.screen import Screen, console_for


class Command(DeskCommand):
    help = "Set everything up and run it: database, embedded Valkey, web server, workers. Ctrl-C ends it."
    needs_database = False  # it is made or brought to this version, or what is wrong with it is said

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8400, help="port on 127.0.0.1 (8400)")
        parser.add_argument("--no-browser", action="store_true", help="print the sign-in link, open nothing")
        parser.add_argument("--workers", type=int, default=1, help="number of worker processes (1)")
        parser.add_argument("--webs", type=int, default=1, help="number of web server processes behind the port (1)")
        parser.add_argument("--rehearse", action="store_true", help="new teams are rehearsed: the model's replies are scripted")

    def act(self, given: dict[str, Any]) -> int:
        options = desk.Options(
            port=given["port"],
            browser=not given["no_browser"],
            workers=given["workers"],
            webs=given["webs"],
            rehearse=given["rehearse"],
        )
        return desk.run(options, Screen(console_for(sys.stdout, plain=self.plain)))
