"""A run: one attempt at a task by one agent, its steps, and what it used."""

from django.db import models
from django.db.models import Q

from tasks_app.domain.statuses import OPEN_RUN, RunStatus
from tasks_app.models.agents import Agent
from tasks_app.models.tasks import Task
from tasks_app.models.teams import Team

OPEN = [status.value for status in OPEN_RUN]


class Run(models.Model):
    """One attempt. `fence` rises with every claim; every write of a worker names it and is refused when it is old."""

    id = models.CharField(primary_key=True, max_length=16)
    team = models.ForeignKey(Team, models.CASCADE, related_name="runs")
    task = models.ForeignKey(Task, models.CASCADE, related_name="runs")
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="runs")
    attempt = models.IntegerField()
    status = models.CharField(max_length=10, default=RunStatus.PENDING.value)
    reason = models.CharField(max_length=20, blank=True)
    detail = models.TextField(blank=True)  # for people
    raw = models.TextField(blank=True)  # technical detail, shown only when opened
    fence = models.IntegerField(default=0)
    lease_until = models.FloatField(default=0)  # Unix seconds of the database's clock
    due_at = models.FloatField(default=0)  # pending: may be claimed from then on; leases.NEVER while it waits for an answer
    not_before = models.FloatField(default=0)  # Unix seconds: what is answered meanwhile makes it due no sooner (a rate limit)
    nudged_at = models.FloatField(default=0)
    worker = models.CharField(max_length=120, blank=True)  # name of the worker that holds it
    host = models.CharField(max_length=120, blank=True)  # where its process is or last was
    pid = models.IntegerField(default=0)  # process group; 0: none
    stop_asked_at = models.DateTimeField(null=True)
    stop_asked_by = models.CharField(max_length=80, blank=True)
    stop_reason = models.CharField(max_length=20, blank=True)
    session_id = models.CharField(max_length=64, blank=True)
    started_session = models.BooleanField(default=False)  # the session has a transcript that can be resumed
    plan_approved = models.BooleanField(default=False)
    overflowed = models.BooleanField(default=False)  # one of its processes said more in one line than can be read
    interrupted = models.BooleanField(default=False)  # the last process did not end by itself
    asked_to_report = models.BooleanField(default=False)
    proofs = models.JSONField(default=list)  # what came of proving the criteria, last time it was asked (domain/criteria.Result)
    report = models.JSONField(null=True)  # the agent's own report: {"status", "evidence", "summary", "failure", "approaches"}
    retries = models.IntegerField(default=0)  # transient failures that were waited out; they count as no attempt
    crashes = models.IntegerField(default=0)  # takeovers without a step of the agent in between
    deaths = models.IntegerField(default=0)  # lives of it that ended by a fault: the process died, or its end could not be stored
    handoffs = models.IntegerField(default=0)  # takeovers in all
    last_seq = models.IntegerField(default=0)  # of steps
    worked_s = models.FloatField(default=0)  # working time up to its last heartbeat or the end of a life, waiting left out
    guidance = models.TextField(blank=True)
    start_from = models.CharField(max_length=10, default="clean")
    fork = models.JSONField(default=dict)  # what it began as a fork of (services/forks.py); empty: of nothing
    input_tokens = models.BigIntegerField(default=0)
    cache_creation_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=6, null=True)  # None: not reported
    cost_due = models.BooleanField(default=False)  # a turn has begun whose cost its process has not reported yet
    cost_partial = models.BooleanField(default=False)  # a process ended before it could report: the cost is at least this
    context_tokens = models.BigIntegerField(null=True)
    context_first = models.BigIntegerField(null=True)  # at its first response: left by earlier tasks, and the prompt
    context_peak = models.BigIntegerField(null=True)
    context_window = models.BigIntegerField(null=True)
    budget_usd = models.DecimalField(max_digits=12, decimal_places=4, null=True)  # its own, from its task or team at the start
    budget_tokens = models.BigIntegerField(null=True)
    budget_level = models.CharField(max_length=12, blank=True)  # the highest level that was acted on
    usd_ceiling = models.DecimalField(max_digits=18, decimal_places=6, null=True)  # its own cost at which its process stops
    budget_waived = models.BooleanField(default=False)  # the lead lets it finish beyond the limit with a smaller model
    # a decision that another run has asked for both
    waits_for = models.ForeignKey("tasks_app.Decision", models.SET_NULL, null=True, related_name="waiting_runs")
    model_override = models.CharField(max_length=80, blank=True)
    workspace_commit = models.CharField(max_length=64, blank=True)  # commit the attempt started from
    dossier = models.JSONField(default=dict)
    result = models.TextField(blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    last_step_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["task"], condition=Q(status__in=OPEN), name="one_open_run_per_task"),
            models.UniqueConstraint(fields=["agent"], condition=Q(status__in=OPEN), name="one_open_run_per_agent"),
            models.UniqueConstraint(fields=["task", "attempt"], name="unique_attempt_of_task"),
        )
        indexes = (
            models.Index(fields=["status", "due_at"], name="run_due"),
            models.Index(fields=["status", "lease_until"], name="run_lease"),
            models.Index(fields=["team", "status"], name="run_team"),
            models.Index(fields=["session_id"], name="run_session"),
            # what is learned from: the newest attempts that were completed
            models.Index(fields=["-ended_at"], condition=Q(status=RunStatus.COMPLETED.value), name="run_completed"),
        )

    def __str__(self) -> str:
        return self.id


class Step(models.Model):
    """What a run did, in order; `seq` is gapless per run."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="steps")
    seq = models.IntegerField()
    fence = models.IntegerField()
    kind = models.CharField(max_length=12)
    text = models.TextField(blank=True)
    data = models.JSONField(default=dict)
    tool_use_id = models.CharField(max_length=80, blank=True)
    parent_tool_use_id = models.CharField(max_length=80, blank=True)
    at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "seq"], name="unique_step_seq"),)


class MessageUsage(models.Model):
    """Tokens of one API message: counted once per id in a team, whatever is replayed."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, related_name="usages")
    message_id = models.CharField(max_length=80)
    model = models.CharField(max_length=80, blank=True)
    subagent = models.CharField(max_length=80, blank=True)
    coordinates = models.BooleanField(default=False)  # it called a tool that is there to agree with others
    input_tokens = models.BigIntegerField(default=0)
    cache_creation_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["team", "message_id"], name="message_counted_once"),)


class CrewCall(models.Model):
    """A call of a crew tool that changed something, with what came of it; `fence` is the life that knows of it."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="calls")
    fence = models.IntegerField()
    key = models.CharField(max_length=64)  # what makes it the same call: sha256 of tool and input; blank: its own id alone
    tool_use_id = models.CharField(max_length=80, blank=True)
    result = models.TextField()
    told = models.BooleanField(default=False)  # the resumable transcript holds the result
    at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=["run", "key"], name="crew_call_again"),)


class CostReading(models.Model):
    """The highest cumulative cost that one Claude process has reported."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="costs")
    process = models.CharField(max_length=60)
    usd = models.DecimalField(max_digits=14, decimal_places=6)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "process"], name="one_cost_per_process"),)
