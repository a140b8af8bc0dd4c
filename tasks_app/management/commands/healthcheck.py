"""`manage.py healthcheck web|worker`: exit 0 when this host's process is well, for containers."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings

from tasks_app.domain.errors import Unavailable
from tasks_app.management import health, ports
from tasks_app.management.cli import DeskCommand


class Command(DeskCommand):
    help = "Exit 0 when the web server or the worker of this host is well, else 1 and say why."
    needs_database = False  # the web server's is looked at by its own answer

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", choices=("web", "worker"))
        parser.add_argument("--port", type=int, default=8400, help="port of the web server (8400)")

    def act(self, given: dict[str, Any]) -> int:
        if given["what"] == "worker":
            if not health.worker_is_healthy():
                raise Unavailable("No worker of this host has sent a heartbeat to the database lately.")
            return 0
        port = ports.valid(given["port"])
        host = next((name for name in settings.ALLOWED_HOSTS if name != "*"), "127.0.0.1")
        if not health.web_is_healthy(port, host=host):
            raise Unavailable(f"The web server does not serve its sign-in page on port {port} of this host.")
        return 0
