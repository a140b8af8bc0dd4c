"""What these tests share."""

from tests.services.fixtures import database_threads, hints  # noqa: F401
