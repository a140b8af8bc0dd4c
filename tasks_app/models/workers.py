"""The worker processes that have been seen, so that a page can say whether anybody works."""

from django.db import models


class Worker(models.Model):
    """One worker process; `boot` is new with every start, so two workers of one name are told apart."""

    name = models.CharField(primary_key=True, max_length=120)  # host:pid:boot
    host = models.CharField(max_length=120)
    pid = models.IntegerField()
    started_at = models.DateTimeField()
    seen_at = models.FloatField()  # Unix seconds of the database's clock
    slots = models.IntegerField()
    has_key = models.BooleanField(default=False)  # it can run real agents
