"""`manage.py healthcheck web|worker`: exit 0 when this host's process is well, for containers."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tasks_app.management import health


class Command(BaseCommand):
    help = "Exit 0 when the web server or the worker of this host is well."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", choices=("web", "worker"))
        parser.add_argument("--port", type=int, default=8400, help="port of the web server (8400)")

    def handle(self, *args: Any, **given: Any) -> None:
        host = next((name for name in settings.ALLOWED_HOSTS if name != "*"), "127.0.0.1")
        well = health.web_is_healthy(given["port"], host=host) if given["what"] == "web" else health.worker_is_healthy()
        if not well:
            raise CommandError(f"The {given['what']} of this host is not well.", returncode=1)
