"""Shared context and checkpoints of a team."""

from django.db import models

from tasks_app.models.teams import Team


class ContextEntry(models.Model):
    """A named value of a team; `version` rises with each write (compare-and-set)."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="context")
    name = models.CharField(max_length=120)
    value = models.JSONField()
    version = models.IntegerField(default=1)
    owner = models.CharField(max_length=80)
    task_number = models.IntegerField(null=True)
    updated_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=["team", "name"], name="unique_context_name"),)


class Checkpoint(models.Model):
    """A named snapshot from which work can resume."""

    id = models.CharField(primary_key=True, max_length=16)
    team = models.ForeignKey(Team, models.CASCADE, related_name="checkpoints")
    run_id = models.CharField(max_length=16, blank=True)
    name = models.CharField(max_length=120)
    by = models.CharField(max_length=80)
    data = models.JSONField(default=dict)
    at = models.DateTimeField()
