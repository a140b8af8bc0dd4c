"""The transcripts of Claude sessions, one row per line, so that any worker on any host can resume."""

from django.db import models


class TranscriptEntry(models.Model):
    """One transcript line as the SDK hands it over; opaque JSON. `subpath` is a sub-agent's transcript."""

    project_key = models.CharField(max_length=300)
    session_id = models.CharField(max_length=64)
    subpath = models.CharField(max_length=300, blank=True)
    uuid = models.CharField(max_length=64, null=True)  # the idempotency key where the line has one
    entry = models.TextField()  # JSON as ASCII: NUL and lone surrogates come back as they were, on every database
    mtime_ms = models.BigIntegerField()

    class Meta:
        indexes = (models.Index(fields=["session_id", "subpath", "id"], name="transcript_order"),)  # sessions have unique ids
        constraints = (
            models.UniqueConstraint(fields=["project_key", "session_id", "subpath", "uuid"], name="transcript_line_once"),
        )
