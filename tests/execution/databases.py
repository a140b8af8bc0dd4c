"""A database of its own for an installation: SQLite in its home, or PostgreSQL where the tests run on that."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg


@contextmanager
def own_database() -> Iterator[str]:
    """Yield what `DATABASE_URL` is to be: empty for SQLite; else that of a new database, which is gone afterwards."""
    url = os.environ.get("CREWDESK_TEST_DATABASE_URL", "")
    if not url:
        yield ""
        return
    name = f"desk_{uuid.uuid4().hex[:12]}"
    server, _, options = url.partition("?")
    with psycopg.connect(url.replace("postgres://", "postgresql://"), autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
        try:
            yield f"{server.rpartition('/')[0]}/{name}{'?' if options else ''}{options}"
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
