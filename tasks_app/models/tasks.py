"""A task: the unit of work, its dependencies and the rules the lead allowed for it."""

from django.db import models

from tasks_app.domain.ids import task_label
from tasks_app.domain.statuses import TaskStatus
from tasks_app.models.agents import Agent
from tasks_app.models.teams import Team


class Task(models.Model):
    """A unit of work with acceptance criteria; numbered per team."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="tasks")
    number = models.IntegerField()
    key = models.CharField(max_length=80, blank=True)  # the plan's own name for it
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    criteria = models.JSONField(default=list)  # list of texts
    active_form = models.CharField(max_length=200, blank=True)
    type = models.CharField(max_length=20, default="agent")
    role = models.CharField(max_length=60, blank=True)
    assignee = models.ForeignKey(Agent, models.SET_NULL, null=True, related_name="assigned")
    plan_mode = models.BooleanField(null=True)  # None: the agent's own setting
    priority = models.IntegerField(default=5)  # 0 first, 9 last
    position = models.IntegerField(default=0)  # order within one priority
    expected_min = models.FloatField(default=5)  # minutes
    expected_max = models.FloatField(default=30)
    budget_usd = models.DecimalField(max_digits=12, decimal_places=4, null=True)
    budget_tokens = models.BigIntegerField(null=True)
    run_budget_usd = models.DecimalField(max_digits=12, decimal_places=4, null=True)  # of each run; None: as the team says
    run_budget_tokens = models.BigIntegerField(null=True)
    used_usd = models.DecimalField(max_digits=14, decimal_places=6, default=0)
    used_tokens = models.BigIntegerField(default=0)
    cost_partial = models.BooleanField(default=False)  # as of its runs: it has cost at least `used_usd`
    status = models.CharField(max_length=12, default=TaskStatus.PENDING.value)
    attempts = models.IntegerField(default=0)  # those that failed and count
    attempts_allowed = models.IntegerField(default=3)
    failed = models.BooleanField(default=False)  # the last attempt failed and nobody has decided what is next
    held = models.BooleanField(default=False)  # a person stopped it: nothing starts it but a person
    not_before = models.DateTimeField(null=True)  # back-off
    guidance = models.TextField(blank=True)  # the lead's extra words for the next attempt
    start_from = models.CharField(max_length=10, default="clean")  # clean | last
    fork = models.JSONField(default=dict)  # the next attempt begins as a fork of an earlier one (services/forks.py)
    review_of = models.ForeignKey("self", models.CASCADE, null=True, related_name="reviews")  # it judges that one
    evidence = models.JSONField(default=dict)
    output = models.TextField(blank=True)  # the summary that dependants get
    completed_by = models.CharField(max_length=80, blank=True)
    completed_while_blocked_by = models.CharField(max_length=200, blank=True)
    metadata = models.JSONField(default=dict)
    created_by = models.CharField(max_length=80, blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=["team", "number"], name="unique_task_number_in_team"),)
        indexes = (models.Index(fields=["team", "status", "priority", "position", "number"], name="task_queue"),)

    def __str__(self) -> str:
        return f"{self.label} {self.title}"

    @property
    def label(self) -> str:
        """`T-42`."""
        return task_label(self.number)


class Dependency(models.Model):
    """`task` may not start before `needs` is completed."""

    task = models.ForeignKey(Task, models.CASCADE, related_name="dependencies")
    # no task goes while others wait for it: they would start without it. (A team goes with all of them.)
    needs = models.ForeignKey(Task, models.RESTRICT, related_name="dependants")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["task", "needs"], name="unique_dependency"),
            models.CheckConstraint(condition=~models.Q(task=models.F("needs")), name="no_self_dependency"),
        )


class TaskRule(models.Model):
    """A permission rule that the lead allowed for one task; revocable."""

    task = models.ForeignKey(Task, models.CASCADE, related_name="rules")
    rule = models.CharField(max_length=300)
    by = models.CharField(max_length=80)
    at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["task", "rule"], name="unique_rule_in_task"),)
