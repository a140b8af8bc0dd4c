"""One factory per model: a plain, valid row with as few words as possible; traits for the usual situations."""

import datetime as dt
import hashlib
import json
import time
from typing import Any

import factory
from django.contrib.auth import get_user_model
from django.utils import timezone

from tasks_app import models
from tasks_app.domain.ids import new_id
from tasks_app.domain.leases import LEASE_S, NEVER
from tasks_app.domain.statuses import AgentStatus, DecisionKind, DecisionStatus, Reason, RunStatus, StepKind, TaskStatus

PASSWORD = "correct horse battery"


def ago(**span: float) -> dt.datetime:
    """Return the moment `span` (as for timedelta) before now."""
    return timezone.now() - dt.timedelta(**span)


class UserFactory(factory.django.DjangoModelFactory):
    """A person with the password `PASSWORD`."""

    class Meta:
        model = get_user_model()
        skip_postgeneration_save = True

    class Params:
        admin = factory.Trait(is_superuser=True, is_staff=True)

    username = factory.Sequence(lambda n: f"lead{n}")
    password = factory.django.Password(PASSWORD)


class TeamFactory(factory.django.DjangoModelFactory):
    """An active team; `lead=` or `viewer=` gives a person access to it."""

    class Meta:
        model = models.Team
        skip_postgeneration_save = True

    class Params:
        rehearsed = factory.Trait(rehearsal=True)

    name = factory.Sequence(lambda n: f"Team {n}")
    slug = factory.Sequence(lambda n: f"team-{n}")
    goal = "Ship the billing feature."
    workspace = "/tmp/workspace"
    workspace_mode = "copy"
    created_at = factory.LazyFunction(timezone.now)

    @factory.post_generation
    def lead(self, create: bool, user: Any, **_: Any) -> None:
        """Let `user` act on the team."""
        if create and user:
            models.TeamAccess.objects.create(team=self, user=user, level="lead")

    @factory.post_generation
    def viewer(self, create: bool, user: Any, **_: Any) -> None:
        """Let `user` see the team."""
        if create and user:
            models.TeamAccess.objects.create(team=self, user=user, level="viewer")


class TeamAccessFactory(factory.django.DjangoModelFactory):
    """Access of one person to one team."""

    class Meta:
        model = models.TeamAccess

    team = factory.SubFactory(TeamFactory)
    user = factory.SubFactory(UserFactory)
    level = "lead"


class AgentFactory(factory.django.DjangoModelFactory):
    """An active agent that has not worked yet."""

    class Meta:
        model = models.Agent

    class Params:
        stopped = factory.Trait(status=AgentStatus.STOPPED.value)
        used = factory.Trait(
            used_usd="4.62",
            used_tokens=588_000,
            cached_tokens=512_000,
            cost_known=True,
            context_tokens=162_000,
            context_window=200_000,
            last_event_at=factory.LazyFunction(timezone.now),
        )

    team = factory.SubFactory(TeamFactory)
    name = factory.Sequence(lambda n: f"builder-{n}")
    role = "builder"
    position = factory.Sequence(lambda n: n)


class TaskFactory(factory.django.DjangoModelFactory):
    """A pending task; `needs=[tasks]` makes it depend on them."""

    class Meta:
        model = models.Task
        skip_postgeneration_save = True

    class Params:
        done = factory.Trait(
            status=TaskStatus.COMPLETED.value,
            attempts=1,
            completed_by="agent:builder-1",
            started_at=factory.LazyFunction(lambda: ago(minutes=20)),
            completed_at=factory.LazyFunction(lambda: ago(minutes=8)),
        )
        cancelled = factory.Trait(status=TaskStatus.CANCELLED.value)
        in_progress = factory.Trait(
            status=TaskStatus.IN_PROGRESS.value, attempts=1, started_at=factory.LazyFunction(lambda: ago(minutes=12, seconds=30))
        )
        gave_up = factory.Trait(failed=True, attempts=3)

    team = factory.SubFactory(TeamFactory)
    number = factory.Sequence(lambda n: n + 1)
    title = factory.Sequence(lambda n: f"Task number {n}")
    criteria = factory.LazyFunction(lambda: ["The tests pass."])
    role = "builder"
    created_at = factory.LazyFunction(timezone.now)
    created_by = "system"

    @factory.post_generation
    def needs(self, create: bool, tasks: Any, **_: Any) -> None:
        """Depend on `tasks`."""
        for needed in tasks or () if create else ():
            models.Dependency.objects.create(task=self, needs=needed)


class DependencyFactory(factory.django.DjangoModelFactory):
    """`task` needs `needs`."""

    class Meta:
        model = models.Dependency

    task = factory.SubFactory(TaskFactory)
    needs = factory.SubFactory(TaskFactory, team=factory.SelfAttribute("..task.team"))


class TaskRuleFactory(factory.django.DjangoModelFactory):
    """A rule that the lead allowed for one task."""

    class Meta:
        model = models.TaskRule

    task = factory.SubFactory(TaskFactory)
    rule = "Bash(make:*)"
    by = "user:lead"
    at = factory.LazyFunction(timezone.now)


class RunFactory(factory.django.DjangoModelFactory):
    """A run with a live lease; traits for the other lives."""

    class Meta:
        model = models.Run

    class Params:
        waiting_for_worker = factory.Trait(status=RunStatus.PENDING.value, lease_until=0, worker="", pid=0)
        lost = factory.Trait(lease_until=factory.LazyFunction(lambda: time.time() - 30))
        parked = factory.Trait(
            status=RunStatus.PENDING.value, reason=Reason.PARKED.value, lease_until=0, worker="", pid=0, due_at=NEVER
        )
        ended = factory.Trait(
            status=RunStatus.COMPLETED.value,
            reason=Reason.DONE.value,
            lease_until=0,
            pid=0,
            ended_at=factory.LazyFunction(timezone.now),
        )
        failed = factory.Trait(
            status=RunStatus.FAILED.value,
            reason=Reason.REPORTED.value,
            detail="Could not reproduce the time zone failure.",
            lease_until=0,
            pid=0,
            ended_at=factory.LazyFunction(timezone.now),
        )

    id = factory.LazyFunction(lambda: new_id("a"))
    task = factory.SubFactory(TaskFactory, in_progress=True)
    team = factory.SelfAttribute("task.team")
    agent = factory.SubFactory(AgentFactory, team=factory.SelfAttribute("..task.team"))
    attempt = 1
    status = RunStatus.RUNNING.value
    fence = 1
    lease_until = factory.LazyFunction(lambda: time.time() + LEASE_S)
    worker = "host:1:boot"
    host = "host"
    pid = 4242
    created_at = factory.LazyFunction(lambda: ago(minutes=12, seconds=31))
    started_at = factory.LazyFunction(lambda: ago(minutes=12, seconds=30))
    last_step_at = factory.LazyFunction(timezone.now)


class StepFactory(factory.django.DjangoModelFactory):
    """One step; `seq` counts up from 1 within its run."""

    class Meta:
        model = models.Step

    run = factory.SubFactory(RunFactory)
    seq = factory.LazyAttribute(lambda o: models.Step.objects.filter(run=o.run).count() + 1)
    fence = 1
    kind = StepKind.SAID.value
    text = "I'll rebuild the extension."
    at = factory.LazyFunction(timezone.now)


class MessageUsageFactory(factory.django.DjangoModelFactory):
    """Tokens of one API message."""

    class Meta:
        model = models.MessageUsage

    run = factory.SubFactory(RunFactory)
    team = factory.SelfAttribute("run.team")
    message_id = factory.Sequence(lambda n: f"msg_{n}")
    model = "claude-sonnet"
    input_tokens = 3
    output_tokens = 212
    at = factory.LazyFunction(timezone.now)


class CostReadingFactory(factory.django.DjangoModelFactory):
    """What one process said it has cost."""

    class Meta:
        model = models.CostReading

    run = factory.SubFactory(RunFactory)
    process = factory.LazyAttribute(lambda o: f"{o.run.id}:1:1")
    usd = "0.42"


PAYLOADS: dict[DecisionKind, dict[str, Any]] = {
    DecisionKind.PERMISSION: {
        "tool": "Bash",
        "input": {"command": "rm -rf build/ && make", "description": "Rebuild from scratch"},
        "title": "wants to run a command",
        "description": "Stale objects in build/ make the linker fail.",
        "rule": "Bash(make:*)",
        "risk": {"level": "low", "sentences": ["Deletes files inside its own folder."]},
        "cwd": "/srv/atlas/workspace",
        "subagent": "",
    },
    DecisionKind.PLAN: {"plan": "# Billing page\n\n1. Add the view\n2. Add the template\n", "version": 1, "previous": None},
    DecisionKind.QUESTION: {
        "questions": [
            {
                "question": "Which currency format should the invoices use?",
                "header": "Currency",
                "options": [
                    {"label": "ISO code", "description": "EUR 12.00"},
                    {"label": "Symbol", "description": "€12.00"},
                ],
                "multiSelect": False,
            }
        ]
    },
    DecisionKind.ESCALATION: {
        "problem": "The payment API answers 401 to every call.",
        "tried": ["Read the key again", "Asked for a fresh token", "Called the sandbox host"],
        "options": [
            {"label": "Mock the API", "effect": "Tests run without the network.", "cost": "About 6 min.", "recommended": True},
            {"label": "Wait for a key", "effect": "Nothing moves until then.", "cost": "", "recommended": False},
        ],
        "recommendation": "Mock the API until the key is there.",
        "auto": False,
    },
    DecisionKind.BUDGET: {"scope": "task", "used_usd": "5.02", "limit_usd": "5.00", "used_tokens": 731_000, "limit_tokens": None},
    DecisionKind.STALL: {"quiet_s": 640, "last": "Bash: pytest -q"},
}
TITLES: dict[DecisionKind, str] = {
    DecisionKind.PERMISSION: "wants to run a command",
    DecisionKind.PLAN: "proposes a plan",
    DecisionKind.QUESTION: "asks which currency format to use",
    DecisionKind.ESCALATION: "The payment API answers 401 to every call.",
    DecisionKind.BUDGET: "has used up its budget",
    DecisionKind.STALL: "has been quiet for 10 minutes",
}


def payload_hash(payload: dict[str, Any]) -> str:
    """Return a hash of the payload; tests of the real one use the service."""
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()


class DecisionFactory(factory.django.DjangoModelFactory):
    """An open decision of a running run; `kind` chooses a typical payload."""

    class Meta:
        model = models.Decision

    class Params:
        answered = factory.Trait(
            status=DecisionStatus.ANSWERED.value,
            choice="allow",
            answered_by="user:lead",
            answered_at=factory.LazyFunction(timezone.now),
        )
        withdrawn = factory.Trait(status=DecisionStatus.WITHDRAWN.value, closed_why="the run was stopped")
        expired = factory.Trait(status=DecisionStatus.EXPIRED.value, closed_why="nobody answered within 10 minutes")

    id = factory.LazyFunction(lambda: new_id("d"))
    run = factory.SubFactory(RunFactory)
    task = factory.LazyAttribute(lambda o: o.run and o.run.task)
    agent = factory.LazyAttribute(lambda o: o.run and o.run.agent)
    team = factory.LazyAttribute(lambda o: o.run.team if o.run else o.task.team)
    kind = DecisionKind.PERMISSION.value
    title = factory.LazyAttribute(
        lambda o: (
            TITLES[DecisionKind(o.kind)]
            if o.kind == DecisionKind.ESCALATION
            else f"{o.agent.name if o.agent else 'Crewdesk'} {TITLES[DecisionKind(o.kind)]}"
        )
    )
    payload = factory.LazyAttribute(lambda o: json.loads(json.dumps(PAYLOADS[DecisionKind(o.kind)])))
    payload_hash = factory.LazyAttribute(lambda o: payload_hash(o.payload))
    ask_key = factory.LazyAttribute(lambda o: o.payload_hash)
    opened_at = factory.LazyFunction(lambda: ago(minutes=4, seconds=12))


class EventFactory(factory.django.DjangoModelFactory):
    """The next event of a team: raises the team's counter."""

    class Meta:
        model = models.Event

    team = factory.SubFactory(TeamFactory)
    kind = "note"
    at = factory.LazyFunction(timezone.now)
    actor = "system"
    keys = factory.LazyAttribute(lambda o: [f"team:{o.team.pk}"])

    @factory.lazy_attribute
    def seq(self) -> int:
        """The next number of the team's log."""
        models.Team.objects.filter(pk=self.team.pk).update(last_seq=self.team.last_seq + 1)
        self.team.last_seq += 1
        return self.team.last_seq


class MessageFactory(factory.django.DjangoModelFactory):
    """A message from one agent to another, not delivered yet."""

    class Meta:
        model = models.Message

    id = factory.LazyFunction(lambda: new_id("m"))
    team = factory.SubFactory(TeamFactory)
    sender = factory.SubFactory(AgentFactory, team=factory.SelfAttribute("..team"))
    sender_name = factory.LazyAttribute(lambda o: o.sender.name if o.sender else "lead")
    recipient = factory.SubFactory(AgentFactory, team=factory.SelfAttribute("..team"))
    recipient_name = factory.LazyAttribute(lambda o: o.recipient.name if o.recipient else "lead")
    body = "The schema is ready."
    created_at = factory.LazyFunction(timezone.now)


class ContextEntryFactory(factory.django.DjangoModelFactory):
    """A shared value of a team."""

    class Meta:
        model = models.ContextEntry

    team = factory.SubFactory(TeamFactory)
    name = factory.Sequence(lambda n: f"fact-{n}")
    value = factory.LazyFunction(lambda: {"port": 8000})
    owner = "agent:builder-1"
    updated_at = factory.LazyFunction(timezone.now)


class CheckpointFactory(factory.django.DjangoModelFactory):
    """A named snapshot."""

    class Meta:
        model = models.Checkpoint

    id = factory.LazyFunction(lambda: new_id("k"))
    team = factory.SubFactory(TeamFactory)
    name = "before the migration"
    by = "agent:builder-1"
    at = factory.LazyFunction(timezone.now)


class TranscriptEntryFactory(factory.django.DjangoModelFactory):
    """One line of a session's transcript."""

    class Meta:
        model = models.TranscriptEntry

    project_key = "project"
    session_id = "00000000-0000-4000-8000-000000000000"
    uuid = factory.Sequence(lambda n: f"line-{n}")
    entry = factory.LazyFunction(lambda: {"type": "user"})
    mtime_ms = 0


class WorkerFactory(factory.django.DjangoModelFactory):
    """A worker that was seen just now."""

    class Meta:
        model = models.Worker

    name = factory.Sequence(lambda n: f"host:{n}:boot")
    host = "host"
    pid = 4242
    started_at = factory.LazyFunction(timezone.now)
    seen_at = factory.LazyFunction(time.time)
    slots = 8
