"""What the settings ask of SQLite."""

import sqlite3
from pathlib import Path

from django.conf import settings


def test_every_word_to_sqlite_is_taken(tmp_path: Path) -> None:
    """SQLite passes over what it does not know, so each pragma is asked back. The last one counts on a Mac alone."""
    connection = sqlite3.connect(tmp_path / "x.sqlite3")
    words = [word.strip() for word in settings.SQLITE_OPTIONS["init_command"].split(";") if word.strip()]
    for word in words:
        connection.execute(word)
    asked = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "mmap_size")}
    asked["checkpoint_fullfsync"] = connection.execute("PRAGMA checkpoint_fullfsync").fetchone()[0]
    assert asked == {"journal_mode": "wal", "synchronous": 1, "mmap_size": 134217728, "checkpoint_fullfsync": 1}
