"""Shared context with the real Claude Code process: one agent shares, the agent of a dependent task is told, in its prompt."""

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
team: Sharing
rehearsal: script.yaml
limits: {parallel: 1}
agents:
  - {name: writer, role: a}
  - {name: reader, role: b}
tasks:
  - {key: schema, title: Schema, criteria: [done], role: a}
  - {key: page, title: Page, criteria: [done], role: b, depends_on: [schema]}
context_schemas:
  port: {type: integer}
"""
SCRIPT = """
parts:
  - task: schema
    turns:
      - call: {crew: ShareContext, input: {name: port, value: eight thousand}}
      - call: {crew: ShareContext, input: {name: port, value: 8000}}
      - call:
          crew: TaskUpdate
          input:
            {taskId: "1", status: completed, evidence: ["it is there"], export_to_context: {table: "invoice_漢"}}
  - task: page
    turns:
      - call: {crew: ReadContext, input: {name: table}}
      - call: {complete: read}
"""
LOOK = """
import json
from tasks_app.models import ContextEntry, ContextRead, Step
reads = [list(row) for row in ContextRead.objects.order_by("pk").values_list("entry__name", "reader", "how")]
steps = [(s.run.agent.name, s.kind, s.text + json.dumps(s.data, ensure_ascii=False)) for s in Step.objects.order_by("pk")]
told = [text for name, kind, text in steps if (name, kind) == ("reader", "prompt")]
refused = sum("is not of type 'integer'" in text for name, kind, text in steps if (name, kind) == ("writer", "tool_result"))
values = {e.name: e.value for e in ContextEntry.objects.all()}
print(json.dumps([values, reads, told, refused]))
"""


def test_what_one_agent_shares_stands_in_the_prompt_of_the_next_and_it_is_known_who_read_it(tmp_path: Path) -> None:
    env = {**os.environ, "CREWDESK_HOME": str(prepared.home(tmp_path / "home")), "DATABASE_URL": "", "CREWDESK_WORKER_SLOTS": "1"}
    for name, text in (("plan.yaml", PLAN), ("script.yaml", SCRIPT), ("lead.yaml", "rules: []\n")):
        (tmp_path / name).write_text(text)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=200)

    plan, lead = str(tmp_path / "plan.yaml"), str(tmp_path / "lead.yaml")
    done = run("manage.py", "team", "start", plan, "--rehearse", "--lead", lead, "--wait", "--json", "--timeout", "120")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    looked = run("manage.py", "shell", "--no-imports", "-v", "0", "-c", LOOK)
    assert looked.returncode == 0, looked.stderr
    values, reads, told, refused = json.loads(looked.stdout.strip().splitlines()[-1])
    assert (values, refused) == ({"port": 8000, "table": "invoice_漢"}, 1)
    assert sorted(reads) == [["port", "reader", "prompt"], ["table", "reader", "prompt"], ["table", "reader", "tool"]]
    assert 'table (version 1, by writer, T-1): "invoice_漢"' in "".join(told)
