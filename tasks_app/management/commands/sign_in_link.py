"""`manage.py sign_in_link`: a one-time link for the first superuser, where `up` does not print one, or for the account named."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings

from tasks_app.management import desk, ports, prepare
from tasks_app.management.cli import DeskCommand, find_account
from tasks_app.management.words import COMMAND

PORT = 8400


class Command(DeskCommand):
    help = "Print a sign-in link for the first superuser (made if needed) or the account named: good once, for 15 minutes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", help="the account to sign in, as in `account list` (the first superuser)")
        parser.add_argument("--port", type=int, help=f"port of the web server on this machine (that of `up`, else {PORT})")

    def act(self, given: dict[str, Any]) -> int:
        running = desk.running(prepare.home())
        port = ports.valid(given["port"] if given["port"] is not None else running["port"] if running else PORT)
        account = find_account(given["name"]) if given["name"] is not None else None
        self.stdout.write(desk.sign_in_link(port, account))
        if not settings.ORIGINS and not ports.web_answers(port):
            self.stderr.write(f"No web server answers on port {port} yet: `{COMMAND} up` starts one, --port names another.")
        return 0
