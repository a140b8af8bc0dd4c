"""A used-up budget stops the real Claude Code process after the response that used it up: one more is never paid for."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import prepared
from tests.management.desks import ROOT

pytestmark = pytest.mark.engine
PLAN = """
team: Bounded
rehearsal: script.yaml
limits: {run_budget: {tokens: 1000}}
permissions: {allow: ["Bash"]}
agents:
  - {name: builder, role: a}
tasks:
  - {key: build, title: Build, criteria: [done], role: a}
"""
TURN = """
      - call: {tool: Bash, input: {command: "sleep 1", description: Work}}
        usage: {input: 100, cache_read: 0, cache_write: 0, output: 320}"""
SCRIPT = f"""
parts:
  - task: build
    turns:{TURN * 8}
"""
LOOK = """
import json
from tasks_app.models import Decision, MessageUsage
payload = Decision.objects.get(kind="budget").payload
sizes = [u.input_tokens + u.cache_creation_tokens + u.cache_read_tokens + u.output_tokens for u in MessageUsage.objects.all()]
print(json.dumps([payload["limit_tokens"], payload["used_tokens"], payload["over_tokens"], sizes]))
"""


def test_the_overshoot_is_at_most_one_response_and_is_measured(tmp_path: Path) -> None:
    env = {**os.environ, "CREWDESK_HOME": str(prepared.home(tmp_path / "home")), "DATABASE_URL": ""}
    for name, text in {"plan.yaml": PLAN, "script.yaml": SCRIPT, "lead.yaml": "rules: []\n"}.items():
        (tmp_path / name).write_text(text)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=100)

    given = [str(tmp_path / "plan.yaml"), "--rehearse", "--lead", str(tmp_path / "lead.yaml")]
    done = run("manage.py", "team", "start", *given, "--wait", "--json", "--timeout", "60")
    assert done.returncode == 3, done.stdout[-3000:] + done.stderr[-2000:]
    looked = run("manage.py", "shell", "--no-imports", "-v", "0", "-c", LOOK)
    limit, used, over, sizes = json.loads(looked.stdout.strip().splitlines()[-1])
    assert (limit, over) == (1000, used - 1000)
    assert 0 < over <= max(sizes)
    assert used == sum(sizes)
    assert used - sizes[-1] < limit, "every response but the last one began within the budget"
