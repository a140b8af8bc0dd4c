"""What every test shares: a private home folder and no leftover environment, set before Django reads its settings."""

import os
import tempfile
from pathlib import Path

for name in [key for key in os.environ if key.startswith(("CREWDESK_", "ANTHROPIC_", "CLAUDE"))]:
    if not name.startswith("CREWDESK_TEST_"):
        del os.environ[name]
os.environ.pop("REDIS_URL", None)
_home = tempfile.TemporaryDirectory(prefix="crewdesk-test-")
os.environ["CREWDESK_HOME"] = str(Path(_home.name))
os.environ["DATABASE_URL"] = os.environ.get("CREWDESK_TEST_DATABASE_URL", "")
os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
