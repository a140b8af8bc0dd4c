"""The tables, one file per aggregate. Only `services` write them and only `selectors` read them."""

from tasks_app.models.agents import Agent
from tasks_app.models.backups import Backup
from tasks_app.models.context import (
    Checkpoint,
    CheckpointBlob,
    ContextBlob,
    ContextChunk,
    ContextEntry,
    ContextName,
    ContextRead,
    ContextVersion,
)
from tasks_app.models.decisions import Decision
from tasks_app.models.events import Event
from tasks_app.models.messages import Message
from tasks_app.models.requests import KeyedRequest
from tasks_app.models.runs import CostReading, CrewCall, MessageUsage, Run, Step
from tasks_app.models.tasks import Dependency, Task, TaskRule
from tasks_app.models.teams import ServerDay, Team, TeamAccess
from tasks_app.models.transcripts import TranscriptEntry
from tasks_app.models.workers import Worker

__all__ = [
    "Agent",
    "Backup",
    "Checkpoint",
    "CheckpointBlob",
    "ContextBlob",
    "ContextChunk",
    "ContextEntry",
    "ContextName",
    "ContextRead",
    "ContextVersion",
    "CostReading",
    "CrewCall",
    "Decision",
    "Dependency",
    "Event",
    "KeyedRequest",
    "Message",
    "MessageUsage",
    "Run",
    "ServerDay",
    "Step",
    "Task",
    "TaskRule",
    "Team",
    "TeamAccess",
    "TranscriptEntry",
    "Worker",
]
