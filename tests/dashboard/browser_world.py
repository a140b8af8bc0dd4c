"""The data of the browser tests: two teams in the middle of their work, one rehearsed, everything that waits, fails and is lost.

`python manage.py shell` runs `build()` in the database of a real server.
"""

import time
from typing import Any

from django.db import transaction
from django.test import Client

from tasks_app.domain.events import EventKind
from tasks_app.models import Agent, Team
from tasks_app.services import checkpoints, events, keys, messages
from tests import factories as make
from tests.payloads import PAYLOADS

MANY_STEPS = 45


def build() -> dict[str, Any]:
    """Make everything and return what the tests address it by."""
    lead = make.UserFactory(username="anna", is_superuser=True)
    atlas, borealis = _atlas(lead), _borealis(lead)
    browser = Client()
    browser.force_login(lead, "django.contrib.auth.backends.ModelBackend")
    return {**atlas, **borealis, "session": browser.cookies["crewdesk_session"].value}


def burst(times: int) -> int:
    """Let everything about Atlas change that many times in two seconds; returns how many events that were."""
    team = Team.objects.get(slug="atlas")
    crew = list(Agent.objects.filter(team=team).order_by("pk"))
    for n in range(times):
        agent = crew[n % len(crew)]
        said = "a word " * (n % 9)
        Agent.objects.filter(pk=agent.pk).update(now_text=f"{n} {said}", context_tokens=n * 9_000, used_tokens=n * 1_234_567)
        Team.objects.filter(pk=team.pk).update(used_tokens=n * 234_567, used_usd=n)  # within its budget
        make.TaskFactory(team=team, number=100 + n, done=n % 2 == 0)
        with transaction.atomic():
            changed = {keys.agent(agent.pk), keys.team(team.pk), keys.tasks(team.pk), keys.inbox(team.pk)}
            events.append(team.pk, EventKind.NOTE, keys=changed)
        time.sleep(2 / times)
    return times


def note(to: str, body: str) -> str:
    """Let the lead write to an agent of Atlas; returns the message."""
    team = Team.objects.get(slug="atlas")
    return str(messages.send(team.pk, sender_agent_id=None, to=to, body=body, actor="user:anna").pk)


def ask(title: str, *, blocks: bool) -> str:
    """Let an agent of Atlas ask, with a task behind its own or none; returns the request."""
    team = Team.objects.get(slug="atlas")
    number = 500 + 2 * team.last_seq
    run = make.RunFactory(
        task__team=team, task__number=number, agent__team=team, agent__name=f"agent-{number}", lease_until=_lease()
    )
    if blocks:
        make.TaskFactory(team=team, number=number + 1, needs=[run.task])
    asked = make.DecisionFactory(run=run, title=title, opened_at=make.ago())
    with transaction.atomic():
        changed = {keys.tasks(team.pk), keys.inbox(team.pk), keys.team(team.pk)}
        events.append(team.pk, EventKind.DECISION_OPENED, keys=changed, decision_id=asked.pk)
    return str(asked.pk)


def _lease() -> float:
    return time.time() + 86_400


def _atlas(lead: Any) -> dict[str, Any]:
    team = make.TeamFactory(
        name="Atlas", slug="atlas", lead=lead, budget_usd=60, used_usd="41.20", used_tokens=1_840_000, cost_known=True,
        created_at=make.ago(hours=2, minutes=31),
    )  # fmt: skip
    ada = make.AgentFactory(team=team, name="ada", used=True, now_text="Editing api/views.py")
    ben = make.AgentFactory(team=team, name="ben", used=True, context_tokens=185_000)
    make.AgentFactory(team=team, name="cleo", role="tester")
    done = [make.TaskFactory(team=team, number=n, title=f"Finished part {n}", done=True) for n in range(1, 14)]
    run = make.RunFactory(task__team=team, task__number=20, task__title="Build the API", agent=ada, lease_until=_lease())
    _transcript(run)
    failed = make.TaskFactory(team=team, number=21, title="Time zones in invoices", gave_up=True)
    for attempt, agent in ((1, ada), (2, ben)):
        make.RunFactory(task=failed, agent=agent, attempt=attempt, failed=True, dossier=DOSSIER, guidance="Use UTC.")
    make.TaskFactory(team=team, number=22, title="Release notes", needs=[failed, run.task])
    make.TaskFactory(team=team, number=23, title="Rounding of totals", needs=done[:1])
    late = make.RunFactory(task__team=team, task__number=24, task__title="Import old invoices", agent=ben, lease_until=_lease())
    type(late).objects.filter(pk=late.pk).update(started_at=make.ago(minutes=40))
    permission = make.DecisionFactory(run=late, notified_at=make.ago(minutes=1))
    ended = make.TeamFactory(name="Cygnus", slug="cygnus", lead=lead, archived_at=make.ago(hours=1))
    make.TaskFactory(team=ended, done=True)
    _messages(team, ada, ben)
    entry = make.ContextEntryFactory(team=team)
    for kind in ("team.started", "task.claimed", "decision.opened"):
        links = {"agent_id": ada.pk, "run_id": run.pk, "decision_id": permission.pk}
        make.EventFactory(team=team, kind=kind, actor="user:anna", task_number=20, **links)
    return {"task": failed.pk, "agent": ada.pk, "permission": permission.pk, "run": run.pk, "entry": entry.pk}


def _messages(team: Any, ada: Any, ben: Any) -> None:
    """One at each stage, an interrupt with its seconds, and mail of the lead."""
    at = {name: make.ago(minutes=n) for n, name in enumerate(("acted_at", "answered_at", "read_at", "delivered_at"), 1)}
    make.MessageFactory(team=team, sender=ada, recipient=ben)
    asked = make.MessageFactory(team=team, sender=None, recipient=ben, body="Which port?", created_at=make.ago(minutes=9), **at)
    make.MessageFactory(
        team=team, sender=None, recipient=ada, body="Stop: the folder is wrong.", priority="interrupt", stop_s=0.8,
        created_at=make.ago(minutes=6), **dict.fromkeys(("stopped_at", "delivered_at", "read_at"), make.ago(minutes=5)),
    )  # fmt: skip
    make.MessageFactory(team=team, sender=ben, recipient=None, body="May I drop the table?", meant_for="ada", reply_to=asked)
    make.MessageFactory(team=team, sender=ben, recipient=ada, body="Thanks, got it.", priority="status")


DOSSIER = {
    "error": "pytest: 4 failed, 212 passed",
    "approaches": ["Pinned tzdata", "Skipped the DST tests"],
    "last_steps": ["tool_call: Bash"],
    "diff": {
        "files": ["tz.py"],
        "summary": "1 file changed, 1 insertion(+), 1 deletion(-)",
        "patch": "--- a/tz.py\n+++ b/tz.py\n@@ -1 +1 @@\n-old\n+new\n",
        "cut": False,
    },
    "criteria_met": ["Lint is clean."],
}


def _transcript(run: Any) -> None:
    said = "I'll **rebuild** it.\n\n# Plan\n\n- `make`\n- <script>alert(1)</script>\n\n[docs](https://example.org)"
    make.StepFactory(run=run, seq=1, kind="prompt", text="You are ada.\n" * 8, data={"from": "system", "uuid": "u1"})
    make.StepFactory(run=run, seq=2, text=said, data={"uuid": "u2"})
    make.StepFactory(run=run, seq=3, kind="tool_call", text="Bash", data={"input": {"command": "make"}}, tool_use_id="t")
    make.StepFactory(
        run=run, seq=4, kind="tool_result", text="\x1b[31mboom\x1b[0m\n" * 9, data={"is_error": True}, tool_use_id="t"
    )
    for seq in range(5, MANY_STEPS + 1):
        make.StepFactory(run=run, seq=seq, text=f"Step number {seq}")
    type(run).objects.filter(pk=run.pk).update(last_seq=MANY_STEPS)


def _borealis(lead: Any) -> dict[str, Any]:
    team = make.TeamFactory(name="Borealis", slug="borealis", lead=lead, rehearsal=True)
    made = {}
    for kind in ("plan", "question", "escalation", "budget", "stall", "review"):
        run = make.RunFactory(task__team=team, task__title=f"Needs a {kind}", agent__team=team, lease_until=_lease())
        made[kind] = make.DecisionFactory(run=run, kind=kind, parked=kind == "plan").pk
    risky = {**PAYLOADS["permission"], "risk": {"level": "high", "sentences": ["Deletes files outside its folder."]}}
    run = make.RunFactory(task__team=team, agent__team=team, lease_until=_lease())
    made["risky"] = make.DecisionFactory(run=run, payload=risky, expires_at=make.ago(minutes=-10)).pk
    make.RunFactory(task__team=team, agent__team=team, agent__name="lost-one", lost=True)
    for name, kind in (
        ("asked", "question"),
        ("allowed", "permission"),
        ("held", "permission"),
    ):  # for tests/dashboard/test_keys.py
        asking = make.RunFactory(task__team=team, task__title=f"To be {name}", agent__team=team, lease_until=_lease())
        made[name] = make.DecisionFactory(run=asking, kind=kind).pk
    made["checkpoint"] = checkpoints.save(team.pk, name="before the fault", by="user:anna").pk
    made["closed"] = make.DecisionFactory(run=run, kind="stall", answered=True, choice="wait").pk
    return made
