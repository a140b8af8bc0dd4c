"""`manage.py sign_in_link`: a one-time link for the first superuser, where `up` does not print one."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from tasks_app.management import desk


class Command(BaseCommand):
    help = "Print a sign-in link for the first superuser (made if needed): good once, for 15 minutes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8400, help="port of the web server on this machine (8400)")

    def handle(self, *args: Any, **given: Any) -> None:
        self.stdout.write(desk.sign_in_link(given["port"]))
