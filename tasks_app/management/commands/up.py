"""`manage.py up`: everything that Crewdesk needs, in one command."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from tasks_app.domain.errors import DomainError, Invalid
from tasks_app.management import desk
from tasks_app.management.cli import BAD_INPUT
from tasks_app.management.screen import Screen


class Command(BaseCommand):
    help = "Set everything up and run it: database, embedded Valkey, web server, workers. Ctrl-C ends it."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8400, help="port on 127.0.0.1 (8400)")
        parser.add_argument("--no-browser", action="store_true", help="print the sign-in link, open nothing")
        parser.add_argument("--workers", type=int, default=1, help="number of worker processes (1)")
        parser.add_argument("--webs", type=int, default=1, help="number of web server processes behind the port (1)")
        parser.add_argument("--rehearse", action="store_true", help="new teams are rehearsed: the model's replies are scripted")

    def handle(self, *args: Any, **given: Any) -> None:
        options = desk.Options(
            port=given["port"],
            browser=not given["no_browser"],
            workers=given["workers"],
            webs=given["webs"],
            rehearse=given["rehearse"],
        )
        try:
            code = desk.run(options, Screen())
        except DomainError as error:
            self.stderr.write(error.message)
            code = BAD_INPUT if isinstance(error, Invalid) else 1
        if code:
            sys.exit(code)
