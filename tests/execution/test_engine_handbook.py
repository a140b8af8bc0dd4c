"""examples/handbook on the real Claude Code process: all that a team knows in one rehearsal, each feature by its trace."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import prepared
from tests.execution.databases import own_database
from tests.management.desks import ROOT

pytestmark = pytest.mark.engine
HANDBOOK = ROOT / "examples" / "handbook"
LOOK = """
import json
from tasks_app.models import Checkpoint, ContextEntry, ContextRead, Decision, Event, Message, Run, Step, Task
from tasks_app.selectors import estimates
page = Task.objects.get(key="page")
second = Run.objects.filter(task=page, attempt=2).first()
steps = Step.objects.filter(kind="tool_result")
print(json.dumps({
    "shared": [[e.name, e.value, e.version, e.author] for e in ContextEntry.objects.all()],
    "refused": sum("is not of type 'integer'" in s.text + json.dumps(s.data) for s in steps),
    "reads": sorted({(r.reader, r.how) for r in ContextRead.objects.all()}),
    "saved": list(Checkpoint.objects.filter(name="port agreed").values_list("name", flat=True)),
    "messages": [[m.sender_name, m.recipient_name, m.priority, m.stop_s is not None, m.read_at is not None,
                  m.answered_at is not None] for m in Message.objects.order_by("created_at")],
    "decided": sorted([d.kind, d.answered_by, d.status] for d in Decision.objects.all()),
    "given": [[e.actor, e.data["to"]] for e in Event.objects.filter(kind="task.reassigned")],
    "evidence": page.evidence,
    "told": "".join(second.steps.filter(kind="prompt").values_list("text", flat=True)) if second else "",
    "verdicts": [e.data["verdict"] for e in Event.objects.filter(kind="task.reviewed")],
    "estimate": estimates.of_task(page.pk).estimate.attempts,
    "tasks": dict(Task.objects.exclude(type="lead").values_list("key", "status")),
    "runs": [[r.attempt, r.status, bool(r.fork)] for r in Run.objects.filter(task=page).order_by("attempt")],
}))
"""


@pytest.fixture
def crewdesk(tmp_path: Path) -> Iterator[Callable[..., str]]:
    with own_database() as database:
        home = str(prepared.home(tmp_path / "home"))
        yield _runner({"CREWDESK_HOME": home, "DATABASE_URL": database, "CREWDESK_WORKER_SLOTS": "3"})


def _runner(given: dict[str, str]) -> Callable[..., str]:
    env = {**os.environ, **given}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-4000:]
        return done.stdout

    return run


def looked(run: Callable[..., str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("shell", "--no-imports", "-v", "0", "-c", LOOK).strip().splitlines()[-1])
    return found


def test_all_that_a_team_knows_is_used_in_one_rehearsal_which_can_be_forked_and_taken_back(crewdesk: Callable[..., str]) -> None:
    plan, lead = str(HANDBOOK / "plan.yaml"), str(HANDBOOK / "lead.yaml")
    crewdesk("team", "start", plan, "--rehearse", "--lead", lead, "--wait", "--json", "--timeout", "120")
    found = looked(crewdesk)
    assert (found["shared"], found["refused"]) == ([["port", 8400, 1, "agent:ada"]], 1)
    assert ["ada", "tool"] in found["reads"]
    assert ["ben", "prompt"] in found["reads"]
    assert found["saved"] == ["port agreed"]
    stopped, question, reply = found["messages"]
    assert stopped == ["ada", "ben", "interrupt", True, True, True]
    assert (question[:2], question[5], reply[:2]) == (["ben", "ada"], True, ["ada", "ben"])
    assert ["question", "lead agent lea", "answered"] in found["decided"]
    assert ["permission", "lead (scripted)", "answered"] in found["decided"]
    assert found["given"] == [["agent:lea", "ada"]]
    assert "Attempt 1 by ben" in found["told"]
    assert "I do not know the port" in found["told"]
    last = found["told"].partition("its last steps:")[2].partition("\n#")[0]
    assert "tool_call: mcp__crew__TaskUpdate" in last
    assert "prompt:" not in last
    assert found["evidence"]["1"].startswith("`grep -q 8400 docs/service.md`: exit code 0")
    assert (found["evidence"]["2"], found["verdicts"]) == ("docs/service.md: 34 bytes", ["accept"])
    assert found["evidence"]["3"].startswith("accepted by rita")
    assert found["estimate"] >= 3, "what this installation finished is what the next estimate is made from"
    assert found["runs"] == [[1, "failed", False], [2, "completed", False]]

    said = json.loads(crewdesk("task", "handbook", "T-4", "--messages", "2", "--json"))
    at = next(str(each["at"]) for each in said if each["text"] == "So I write it.")
    crewdesk("task", "handbook", "T-4", "--fork", "2", "--at", at, "--files", "then", "--guidance", "Shorter.")
    assert looked(crewdesk)["runs"][2:] == [[3, "pending", True]]

    crewdesk("team", "stop", "handbook")
    listed = json.loads(crewdesk("checkpoint", "list", "handbook", "--json"))["checkpoints"]
    agreed = next(one["id"] for one in listed if one["name"] == "port agreed")
    shown = json.loads(crewdesk("checkpoint", "show", "handbook", agreed, "--json"))
    crewdesk("checkpoint", "restore", "handbook", agreed, "--at-seq", str(shown["seq"]))
    back = looked(crewdesk)
    assert {key: status for key, status in back["tasks"].items() if key in ("port", "layout", "watch", "page")} == dict.fromkeys(
        ("port", "layout", "watch", "page"), "pending"
    )
