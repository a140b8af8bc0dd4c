"""A message: a note between agents, or between the lead and an agent, with receipts."""

from django.db import models

from tasks_app.models.agents import Agent
from tasks_app.models.teams import Team


class Message(models.Model):
    """`sender` or `recipient` is null where it is the lead."""

    id = models.CharField(primary_key=True, max_length=16)
    team = models.ForeignKey(Team, models.CASCADE, related_name="messages")
    sender = models.ForeignKey(Agent, models.CASCADE, null=True, related_name="sent")
    sender_name = models.CharField(max_length=80)
    recipient = models.ForeignKey(Agent, models.CASCADE, null=True, related_name="received")
    recipient_name = models.CharField(max_length=80)
    body = models.TextField()
    priority = models.CharField(max_length=10, default="normal")  # domain.messaging.Priority
    no_reply = models.BooleanField(default=False)
    reply_to = models.ForeignKey("self", models.SET_NULL, null=True, related_name="replies")
    depth = models.IntegerField(default=0)  # replies to replies before it, since a person wrote
    broadcast = models.CharField(max_length=16, blank=True)  # the same for all that were sent to everyone at once
    meant_for = models.CharField(max_length=80, blank=True)  # in hub mode: whom the sender had named
    dedupe_key = models.CharField(max_length=120, null=True)
    created_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)  # put into the recipient's context, or seen by the lead
    delivered_run = models.CharField(max_length=16, blank=True)
    delivered_fence = models.IntegerField(default=0)
    read_at = models.DateTimeField(null=True)  # the transcript holds it
    answered_at = models.DateTimeField(null=True)  # its recipient wrote back
    acted_at = models.DateTimeField(null=True)  # its recipient says that it acted on it
    acted_note = models.TextField(blank=True)  # what it says it did
    stopped_at = models.DateTimeField(null=True)  # what ran was seen stopped for it (priority interrupt)
    stop_s = models.FloatField(null=True)  # seconds until then, from when it was sent or, if later, this life of the run began

    class Meta:
        ordering = ("created_at", "id")
        constraints = (models.UniqueConstraint(fields=["team", "dedupe_key"], name="one_message_per_dedupe_key"),)
        indexes = (
            models.Index(fields=["recipient", "delivered_at"], name="message_mailbox"),
            models.Index(fields=["team", "created_at"], name="message_log"),
        )
