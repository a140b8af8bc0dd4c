"""An event: one durable line of a team's log."""

from django.db import models

from tasks_app.models.teams import Team


class Event(models.Model):
    """`seq` is gapless per team: it comes from the team's row-locked counter in the transaction of the change."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="events")
    seq = models.BigIntegerField()
    kind = models.CharField(max_length=24)
    at = models.DateTimeField()
    actor = models.CharField(max_length=80)  # user:<name> | agent:<name> | system
    task_number = models.IntegerField(null=True)
    run_id = models.CharField(max_length=16, blank=True)
    agent_id = models.BigIntegerField(null=True)
    decision_id = models.CharField(max_length=16, blank=True)
    keys = models.JSONField(default=list)  # which live blocks it makes stale
    data = models.JSONField(default=dict)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["team", "seq"], name="unique_event_seq"),)
        indexes = (models.Index(fields=["team", "kind", "seq"], name="event_kind"),)
