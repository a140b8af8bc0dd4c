"""One factory per model: a plain, valid row with as few words as possible; traits for the usual situations."""

import copy
import time

import factory
from django.utils import timezone

from tasks_app import models
from tasks_app.decision_kinds import registry
from tasks_app.decision_kinds.base import payload_hash
from tasks_app.domain.ids import new_id
from tasks_app.domain.leases import LEASE_S, NEVER
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, Reason, RunStatus, StepKind
from tasks_app.selectors.worktime import span_s
from tests.factories_base import (
    PASSWORD,
    AgentFactory,
    DependencyFactory,
    TaskFactory,
    TeamAccessFactory,
    TeamFactory,
    UserFactory,
    ago,
)
from tests.payloads import PAYLOADS

__all__ = [
    "PASSWORD",
    "PAYLOADS",
    "AgentFactory",
    "CheckpointFactory",
    "ContextEntryFactory",
    "CostReadingFactory",
    "DecisionFactory",
    "DependencyFactory",
    "EventFactory",
    "MessageFactory",
    "MessageUsageFactory",
    "RunFactory",
    "StepFactory",
    "TaskFactory",
    "TaskRuleFactory",
    "TeamAccessFactory",
    "TeamFactory",
    "TranscriptEntryFactory",
    "UserFactory",
    "WorkerFactory",
    "ago",
]


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
    ended_at = None
    worked_s = factory.LazyAttribute(lambda o: span_s(o.started_at, o.ended_at))
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
    title = factory.LazyAttribute(lambda o: registry.get(o.kind).title(o.payload, o.agent.name if o.agent else "Crewdesk"))
    payload = factory.LazyAttribute(lambda o: copy.deepcopy(PAYLOADS[DecisionKind(o.kind)]))
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
