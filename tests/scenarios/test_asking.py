"""Every kind of request, granted and refused, attached and parked, with the real Claude Code process."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import prepared
from tests.management.desks import ROOT

pytestmark = pytest.mark.engine
FOLDER = Path(__file__).parent / "asking"
DECIDE = """
import json, sys, django
django.setup()
from tests.management.commands import run
print(json.dumps([run("decide", *answer)[0] for answer in json.loads(sys.argv[1])]))
"""
WAITING = 3
"""The exit code of a team that waits for its lead."""
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


BY_HAND = {
    "allowed": ["--allow"],
    "denied": ["--deny", "--note", "use another way"],
    "ruled": ["--allow-rule"],
    "approved": ["--approve"],
    "asking": ["--pick", "Blue", "--pick", "S", "--pick", "L"],
    "dismissed": ["--dismiss"],
    "stuck": ["--pick", "Right", "--text", "safety first"],
}

LONG_AFTER_THE_GRACE_S = 8


class Desk:
    """A home of its own with the plan of this scenario, and its commands."""

    def __init__(self, folder: Path, *, grace_s: int) -> None:
        self.env = {
            **os.environ,
            "CREWDESK_HOME": str(prepared.home(folder / "home")),
            "DATABASE_URL": "",
            "CREWDESK_WORKER_SLOTS": "4",
        }
        self.work = folder / "home" / "workspaces" / "asking" / "work"
        self.plan = folder / "plan.yaml"
        self.plan.write_text(re.sub(r"grace_s: \d+", f"grace_s: {grace_s}", (FOLDER / "plan.yaml").read_text()))
        (folder / "script.yaml").write_text((FOLDER / "script.yaml").read_text())

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments, "--json"]
        return subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, text=True, timeout=200)

    def decide(self, answers: list[list[str]]) -> None:
        """Give each answer by the command, all in one process: to start one takes longer than to answer."""
        done = subprocess.run(
            [sys.executable, "-c", DECIDE, json.dumps(answers)],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert (done.returncode, json.loads(done.stdout or "[]")) == (0, [0] * len(answers)), (answers, done.stderr)

    def must_have_gone_as_told(self, *, parked: int) -> None:
        report = json.loads(self.run("-m", "bench.auditor", "--done").stdout)
        assert report["violations"] == []
        assert (report["asked"], report["summaries"], report["parked"]) == (ASKED, TOLD, parked)
        assert (self.work / "allow.txt").read_text() == "allowed\n", "it ran exactly once"
        assert not (self.work / "deny.txt").exists()


@pytest.mark.parametrize("grace_s", [60, 0], ids=["attached", "parked"])
def test_each_answer_reaches_its_agent_once_and_does_what_it_says(tmp_path: Path, grace_s: int) -> None:
    desk, lead = Desk(tmp_path, grace_s=grace_s), tmp_path / "lead.yaml"
    words = (FOLDER / "lead.yaml").read_text()
    # an answer that is quicker than the parking reaches an attached agent: rightly so, but here each is to be parked
    lead.write_text(words if grace_s else words.replace("after: 1.5", f"after: {LONG_AFTER_THE_GRACE_S}"))
    done = desk.run("manage.py", "team", "start", str(desk.plan), "--rehearse", "--lead", str(lead), "--wait", "--timeout", "150")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    desk.must_have_gone_as_told(parked=0 if grace_s else sum(ASKED.values()))


def test_what_is_answered_while_nothing_runs_reaches_its_agent_in_the_next_worker(tmp_path: Path) -> None:
    """Each round: every agent is parked, all processes end, the lead answers, a new worker is started."""
    desk, changed = Desk(tmp_path, grace_s=0), tmp_path / "plan.txt"
    changed.write_text("1. Write a little, and test it")
    revised = [["--revise", "--note", "make it smaller"], ["--approve-with", str(changed)]]
    done = desk.run("manage.py", "team", "start", str(desk.plan), "--rehearse", "--wait", "--timeout", "150")
    for _ in range(len(ASKED)):
        if done.returncode != WAITING:
            break
        waiting = json.loads(desk.run("manage.py", "decide").stdout)
        desk.decide([[waits["id"], *(BY_HAND.get(waits["agent"]) or revised.pop(0))] for waits in waiting])
        done = desk.run("manage.py", "team", "wait", "asking", "--timeout", "150")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    desk.must_have_gone_as_told(parked=sum(ASKED.values()))
    assert revised == []
