"""Shared context and checkpoints of a team."""

from django.db import models
from django.db.models import Q

from tasks_app.domain.statuses import Scope
from tasks_app.models.teams import Team


class ContextName(models.Model):
    """What outlives the entries of one name: its JSON Schema, and the version that was given last, so that none comes twice."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="context_names")
    name = models.CharField(max_length=120)
    schema = models.JSONField(null=True)  # None: any value is taken
    schema_by = models.CharField(max_length=80, blank=True)
    last_version = models.IntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["team", "name"], name="unique_name_of_context"),)


class ContextBlob(models.Model):
    """A large value outside its row, by the SHA-256 of its bytes (UTF-8 JSON); removed when nothing points to it."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="context_blobs")
    digest = models.CharField(max_length=64)
    size = models.IntegerField()  # bytes

    class Meta:
        constraints = (models.UniqueConstraint(fields=["team", "digest"], name="unique_context_blob"),)


class ContextChunk(models.Model):
    """A part of a blob: in the database, so that every worker of every host can read it."""

    blob = models.ForeignKey(ContextBlob, models.CASCADE, related_name="chunks")
    position = models.IntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["blob", "position"], name="unique_context_chunk"),)


class Stored(models.Model):
    """One value as it is stored: in the row, or in a blob with its beginning in the row."""

    value = models.JSONField(null=True)
    blob = models.ForeignKey(ContextBlob, models.RESTRICT, null=True, related_name="+")
    preview = models.TextField(blank=True)  # of a value in a blob: how its JSON begins
    size = models.IntegerField(default=0)  # bytes of its JSON
    version = models.IntegerField(default=1)
    author = models.CharField(max_length=80, blank=True)  # who wrote this version: `agent:<name>`, `user:<name>`, `system`
    updated_at = models.DateTimeField()

    class Meta:
        abstract = True


class ContextEntry(Stored):
    """A named value of a team; `version` rises with each write (compare-and-set)."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="context")
    name = models.CharField(max_length=120)
    scope = models.CharField(max_length=4, default=Scope.TEAM.value)
    task_number = models.IntegerField(null=True)  # the task it comes from; with scope `task` only what follows from it sees it
    owner = models.CharField(max_length=80)  # who made it
    expires_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=["team", "name"], name="unique_context_name"),)
        indexes = (
            models.Index(fields=["team", "-updated_at"], name="context_newest"),
            models.Index(fields=["expires_at"], name="context_expiry", condition=Q(expires_at__isnull=False)),
        )


class ContextVersion(Stored):
    """An earlier version of an entry that still exists; the newest few are kept."""

    entry = models.ForeignKey(ContextEntry, models.CASCADE, related_name="versions")

    class Meta:
        ordering = ("-version",)
        constraints = (models.UniqueConstraint(fields=["entry", "version"], name="unique_context_version"),)


class ContextRead(models.Model):
    """Which version an attempt was given, and how: in its prompt or by the tool."""

    entry = models.ForeignKey(ContextEntry, models.CASCADE, related_name="reads")
    version = models.IntegerField()
    reader = models.CharField(max_length=80)
    run_id = models.CharField(max_length=16)
    how = models.CharField(max_length=8)  # prompt | tool
    at = models.DateTimeField()  # the last time

    class Meta:
        ordering = ("-at",)
        constraints = (models.UniqueConstraint(fields=["entry", "run_id", "version", "how"], name="context_read_once"),)


class Checkpoint(models.Model):
    """A named snapshot from which work can resume; `data` is a sealed `domain.checkpoint.Content`."""

    id = models.CharField(primary_key=True, max_length=16)
    team = models.ForeignKey(Team, models.CASCADE, related_name="checkpoints")
    run_id = models.CharField(max_length=16, blank=True)
    name = models.CharField(max_length=120)
    by = models.CharField(max_length=80)
    automatic = models.BooleanField(default=False)  # saved by the system itself: only the newest few are kept
    data = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=["team", "-at"], name="checkpoint_newest"),)


class CheckpointBlob(models.Model):
    """A large shared value that a checkpoint holds: it stays in the store for as long."""

    checkpoint = models.ForeignKey(Checkpoint, models.CASCADE, related_name="blobs")
    blob = models.ForeignKey(ContextBlob, models.RESTRICT, related_name="+")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["checkpoint", "blob"], name="unique_blob_of_checkpoint"),)
