"""A backup: one try to keep every team in a file elsewhere, and what came of it."""

from django.db import models


class Backup(models.Model):
    """`slot` is the interval it was due in: of two workers that find it due, one gets it. None: asked for by a person."""

    slot = models.BigIntegerField(null=True, unique=True)
    name = models.CharField(max_length=80)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    teams = models.IntegerField(default=0)
    size = models.BigIntegerField(default=0)  # bytes
    verified = models.BooleanField(default=False)  # every team was restored into a scratch database and compared
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ("-started_at", "-pk")
