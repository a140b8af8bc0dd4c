"""N26: web, Valkey and the database are really gone while a permission request is in flight, and come back."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bench.cluster import Cluster
from bench.place import ROOT

SECONDS = 1
"""The case says 30; nothing but the patience of a test depends on it (`python -m tests.cases.away 30 …`)."""


@pytest.mark.engine
def test_what_is_asked_while_the_approval_service_is_away_never_runs_unapproved_and_nobody_is_locked(tmp_path: Path) -> None:
    cluster, folder = Cluster.start(), Path(tempfile.mkdtemp(prefix="vk-"))
    try:
        env = {
            **os.environ,
            "CREWDESK_HOME": str(tmp_path),
            "DATABASE_URL": cluster.url,
            "REDIS_URL": f"unix://{folder}/valkey.sock?db=0",
            "CREWDESK_DB_POOL": "8",
        }
        command = [sys.executable, "-m", "tests.cases.away", str(SECONDS), str(cluster.folder), str(folder)]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=240)
    finally:
        cluster.remove()
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["ran meanwhile"] is False
    assert found["in flight"] == "allow", "it was asked again, and its answer arrived"
    for moment in ("too long", "not to be asked"):
        assert "approval service" in found[moment].lower()
        assert "den" in found[moment], "it says that nobody denied it"
    assert found["denied"] == ["deny", "No."], "a person's no is another answer"
    assert found["back"] == "allow", "the agent goes on as before"
    assert found["kept"]["too-long"] == "open", "the request is still the lead's to answer"
    assert "never" not in found["kept"]
