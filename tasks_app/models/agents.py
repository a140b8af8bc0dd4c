"""An agent: a named member of a team."""

from django.db import models

from tasks_app.domain.statuses import AgentStatus
from tasks_app.models.teams import Team


class Agent(models.Model):
    """A named member with a role, model, tools and rules; owns a Claude session and its context usage."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="agents")
    name = models.CharField(max_length=60)
    role = models.CharField(max_length=60)
    model = models.CharField(max_length=80, blank=True)
    instructions = models.TextField(blank=True)
    plan_mode = models.BooleanField(default=False)
    tools = models.JSONField(null=True)  # None: Claude Code's defaults
    permissions = models.JSONField(default=dict)
    status = models.CharField(max_length=10, default=AgentStatus.ACTIVE.value)
    session_id = models.CharField(max_length=64, blank=True)  # the session it goes on in; "" starts a new one
    context_tokens = models.BigIntegerField(null=True)  # None: unknown
    context_window = models.BigIntegerField(null=True)
    compacted_at = models.DateTimeField(null=True)
    handover = models.TextField(blank=True)  # summary for the next fresh session
    used_usd = models.DecimalField(max_digits=14, decimal_places=6, default=0)
    used_tokens = models.BigIntegerField(default=0)
    cached_tokens = models.BigIntegerField(default=0)
    cost_known = models.BooleanField(default=False)
    cost_partial = models.BooleanField(default=False)  # as of its runs: it has cost at least `used_usd`
    now_text = models.CharField(max_length=200, blank=True)  # what it does right now, one line
    last_event_at = models.DateTimeField(null=True)
    position = models.IntegerField(default=0)

    class Meta:
        ordering = ("position", "id")
        constraints = (models.UniqueConstraint(fields=["team", "name"], name="unique_agent_name_in_team"),)

    def __str__(self) -> str:
        return self.name
