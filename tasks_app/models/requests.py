"""What was made by requests that may come twice."""

from django.db import models


class KeyedRequest(models.Model):
    """A request with an idempotency key, and what it has made: when it comes again, it makes nothing."""

    key = models.CharField(primary_key=True, max_length=64)  # sha256 of who sends it, to where, its key and all it holds
    made = models.CharField(max_length=40, blank=True)  # primary key of what it made; blank only inside its transaction
    at = models.DateTimeField(db_index=True)
