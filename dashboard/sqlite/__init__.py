"""Django's SQLite backend, whose writers wait in a line."""

WAIT_S = 20
"""Who finds the file locked for so many seconds fails with “database is locked”."""
