"""The whole of N26 (`tests.cases.away`) with a PostgreSQL and a Valkey of its own; prints what came of it as JSON."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.cluster import Cluster
from bench.place import ROOT

SECONDS = 30
"""As the case says."""


def main() -> int:
    """Return the exit code of the story."""
    cluster, folder = Cluster.start(), Path(tempfile.mkdtemp(prefix="vk-"))
    try:
        env = {
            **os.environ,
            "CREWDESK_HOME": str(folder / "home"),
            "DATABASE_URL": cluster.url,
            "REDIS_URL": f"unix://{folder}/valkey.sock?db=0",
            "CREWDESK_DB_POOL": "8",
        }
        command = [sys.executable, "-m", "tests.cases.away", str(SECONDS), str(cluster.folder), str(folder)]
        return subprocess.run(command, cwd=ROOT, env=env, timeout=200).returncode
    finally:
        cluster.remove()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
