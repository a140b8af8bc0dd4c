"""Every kind of request, granted and refused, attached and parked, with the real Claude Code process."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.management.desks import ROOT

pytestmark = pytest.mark.engine
FOLDER = Path(__file__).parent / "asking"
TOLD = {
    "Allow": "it ran",
    "Deny": "told no",
    "Rule": "asked once",
    "Approve": "approved",
    "Revise": "second version",
    "Question": "it is blue",
    "Escalate": "went right",
    "Dismiss": "decided alone",
}
ASKED = {
    "Allow / permission": 1,
    "Deny / permission": 1,
    "Rule / permission": 1,
    "Approve / plan": 1,
    "Revise / plan": 2,
    "Question / question": 1,
    "Dismiss / question": 1,
    "Escalate / escalation": 1,
}


@pytest.mark.parametrize("grace_s", [60, 0], ids=["attached", "parked"])
def test_each_answer_reaches_its_agent_once_and_does_what_it_says(tmp_path: Path, grace_s: int) -> None:
    env = {**os.environ, "CREWDESK_HOME": str(tmp_path / "home"), "DATABASE_URL": "", "CREWDESK_WORKER_SLOTS": "4"}
    plan = tmp_path / "plan.yaml"
    plan.write_text(re.sub(r"grace_s: \d+", f"grace_s: {grace_s}", (FOLDER / "plan.yaml").read_text()))
    (tmp_path / "script.yaml").write_text((FOLDER / "script.yaml").read_text())

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=200)

    lead = str(FOLDER / "lead.yaml")
    done = run("manage.py", "team", "start", str(plan), "--rehearse", "--lead", lead, "--wait", "--json", "--timeout", "150")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    report = json.loads(run("-m", "bench.auditor", "--json", "--done").stdout)
    assert report["violations"] == []
    assert report["asked"] == ASKED
    assert report["summaries"] == TOLD
    assert report["parked"] == (0 if grace_s else sum(ASKED.values()))
    work = tmp_path / "home" / "workspaces" / "asking" / "work"
    assert (work / "allow.txt").read_text() == "allowed\n", "it ran exactly once"
    assert not (work / "deny.txt").exists()
