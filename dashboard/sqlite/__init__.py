"""Django's SQLite backend, whose writers wait in a line."""

WAIT_S = 20
"""Who finds the file locked for so many seconds fails with “database is locked”."""
PATIENT = f"PRAGMA busy_timeout={WAIT_S * 1000}"
"""For what else may find the file locked: a statement outside transactions, a reader while the last connection is closed."""
