"""Makes a home ready to serve: folders, database, the first account and, where needed, the collected static files."""

import io
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, connections

from tasks_app.domain.errors import Unavailable
from tasks_app.domain.text import mask_secrets
from tasks_app.management import schema, sign_in
from tasks_app.management.sockets import private_folder

REACH_S = 5


def home() -> Path:
    """Return CREWDESK_HOME with its folders `run` and `log`, all private. Raises `Unavailable`."""
    folder = Path(settings.HOME)
    try:
        for each in (folder, folder / "run", folder / "log"):
            private_folder(each)
    except OSError as error:
        raise Unavailable(f"The folder {folder} cannot be used: {error}", field="CREWDESK_HOME") from None
    return folder


def database() -> None:
    """Bring the database to this version's schema. Raises `Unavailable` with the reason in one sentence."""
    try:
        reach()
        call_command("migrate", interactive=False, verbosity=0, stdout=io.StringIO())
        missing = schema.lacks()
    except (DatabaseError, ImproperlyConfigured, CommandError, OSError) as error:
        reason = mask_secrets(" ".join(str(error).split()))
        raise Unavailable(f"The database {_name()} cannot be prepared: {reason}", field="DATABASE_URL") from None
    if missing:
        raise Unavailable(
            f"The database {_name()} cannot be used: {schema.sentence(missing)}. {schema.FIX}", field="DATABASE_URL"
        )


def _name() -> str:
    where = settings.DATABASES["default"]
    return f"{where.get('HOST') or 'localhost'}/{where['NAME']}" if "postgresql" in where["ENGINE"] else str(where["NAME"])


def reach() -> None:
    """Raise `OperationalError` soon where PostgreSQL does not answer: the pool would try for 20 s and log every try."""
    if connection.vendor != "postgresql":
        return
    parameters = {name: value for name, value in connection.get_connection_params().items() if name != "pool"}
    driver: Any = getattr(connection, "Database")  # noqa: B009 - the stubs do not know it
    with connection.wrap_database_errors:
        driver.connect(**parameters | {"connect_timeout": REACH_S}).close()


def static_files() -> None:
    """Collect the static files where hashed names are asked for; else the server finds them by itself."""
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    if settings.STATIC_MANIFEST:
        call_command("collectstatic", interactive=False, verbosity=0, stdout=io.StringIO())


def everything() -> Path:
    """Prepare home, database, static files and the account `lead`; returns the home. Raises `Unavailable`."""
    folder = home()
    database()
    static_files()
    sign_in.ensure_lead()
    connections.close_all()
    return folder
