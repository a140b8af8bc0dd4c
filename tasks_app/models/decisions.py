"""A decision: something an agent needs from the lead. An answered, unconsumed one is also the one-use grant."""

from django.db import models
from django.db.models import Q

from tasks_app.domain.deciders import Decider
from tasks_app.domain.statuses import DecisionStatus
from tasks_app.models.agents import Agent
from tasks_app.models.runs import Run
from tasks_app.models.tasks import Task
from tasks_app.models.teams import Team


class Decision(models.Model):
    """Open until answered, withdrawn or expired.

    `delivered_fence` says which life of the run got the answer; `consumed_at` that the resumable transcript holds its
    effect. In between, a crash makes the answer usable again by the next life and by nobody else.
    """

    id = models.CharField(primary_key=True, max_length=16)
    team = models.ForeignKey(Team, models.CASCADE, related_name="decisions")
    task = models.ForeignKey(Task, models.CASCADE, null=True, related_name="decisions")
    run = models.ForeignKey(Run, models.CASCADE, null=True, related_name="decisions")
    agent = models.ForeignKey(Agent, models.CASCADE, null=True, related_name="decisions")
    kind = models.CharField(max_length=12)
    title = models.CharField(max_length=300)
    payload = models.JSONField(default=dict)
    payload_hash = models.CharField(max_length=64)
    ask_key = models.CharField(max_length=64)  # what is asked, without how it is shown: the same question is asked once
    shared = models.CharField(max_length=10, blank=True)  # team | server: the used-up budget that several runs wait for together
    subject = models.CharField(max_length=12, blank=True)  # by which setting it is decided (domain.deciders); "": the human
    decider = models.CharField(max_length=6, default=Decider.HUMAN.value)  # human | lead: whose it is; people may always answer
    lead_until = models.DateTimeField(null=True)  # so long the lead agent has for it
    handed_why = models.CharField(max_length=200, blank=True)  # why the lead agent does not decide it after all
    version = models.IntegerField(default=1)
    tool_use_id = models.CharField(max_length=80, blank=True)
    subagent = models.CharField(max_length=80, blank=True)
    status = models.CharField(max_length=10, default=DecisionStatus.OPEN.value)
    parked = models.BooleanField(default=False)  # no process waits for it: the answer is kept until the run goes on
    opened_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    snoozed_until = models.DateTimeField(null=True)
    looked_by = models.CharField(max_length=80, blank=True)  # who said last that they look at it, and when: services.expiry
    looked_at = models.DateTimeField(null=True)
    choice = models.CharField(max_length=20, blank=True)
    note = models.TextField(blank=True)
    answer = models.JSONField(default=dict)
    answered_by = models.CharField(max_length=80, blank=True)
    answered_at = models.DateTimeField(null=True)
    closed_why = models.CharField(max_length=200, blank=True)  # withdrawn or expired: in words
    delivered_fence = models.IntegerField(null=True)
    delivered_at = models.DateTimeField(null=True)
    consumed_at = models.DateTimeField(null=True)
    notified_at = models.DateTimeField(null=True)  # on-call was told; this and the next three: services.oncall
    notify_tries = models.SmallIntegerField(default=0)
    notify_next_at = models.DateTimeField(null=True)  # no try before; set by the try that was claimed last
    notify_error = models.CharField(max_length=200, blank=True)  # why the last try failed, in words

    class Meta:
        ordering = ("opened_at", "id")
        indexes = (
            models.Index(fields=["team", "status", "opened_at"], name="decision_inbox"),
            models.Index(fields=["opened_at"], condition=Q(status=DecisionStatus.OPEN.value), name="decision_open"),
            models.Index(
                fields=["lead_until"],
                condition=Q(status=DecisionStatus.OPEN.value, decider=Decider.LEAD.value),
                name="decision_of_lead_agent",
            ),
        )
        constraints = (
            models.UniqueConstraint(
                fields=["run", "kind", "ask_key"],
                condition=Q(status=DecisionStatus.OPEN.value),
                name="nothing_is_asked_twice_at_once",
            ),
            models.UniqueConstraint(
                fields=["team", "shared"],
                condition=Q(status=DecisionStatus.OPEN.value) & ~Q(shared=""),
                name="a_shared_budget_is_asked_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.title}"
