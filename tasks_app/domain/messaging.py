"""Messages: priorities, receipts, the rules that stop loops and chatter, and the words in which an agent is given one."""

import datetime as dt
import hashlib
import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from tasks_app.domain.ids import parse_task_label
from tasks_app.domain.statuses import TeamStatus

LIMIT: Final = 100_000
"""Longest body in characters."""
BROADCAST_LIMIT: Final = 20_000
"""Longest body of a message to everyone: it is stored, and read, once per agent."""
LEAD: Final = "lead"
LEAD_NAMES: Final = frozenset({LEAD, "the lead", "human", "user"})
EVERYONE: Final = frozenset({"all", "everyone"})
LEAD_ROLE: Final = "lead"
"""The role of an agent through whom a team in hub mode talks; without one it is the human."""
RATE_S: Final = 60.0
"""The time over which messages of a pair are counted."""
CHAIN_S: Final = 1800.0
"""A message counts as a reply to the newest one from the other side that is not older than this."""
PER_MINUTE: Final = 10
CHAIN: Final = 8


class Mode(StrEnum):
    """Who may write to whom."""

    MESH = "mesh"  # everybody to everybody
    HUB = "hub"  # agents through the lead agent, or the human where there is none


class Priority(StrEnum):
    """How a message reaches its agent."""

    NORMAL = "normal"  # between two tool calls, or as the next turn
    INTERRUPT = "interrupt"  # at once: what runs is stopped for it
    STATUS = "status"  # never: it stands on the page


class Receipt(StrEnum):
    """How far a message has come."""

    PAGE = "page only"
    QUEUED = "queued"
    HANDED = "handed over"
    CONTEXT = "in context"
    ANSWERED = "answered"
    ACTED = "acted on"


@dataclass(frozen=True)
class Settings:
    """How a team talks; `per_minute` counts messages from one agent to one other, `chain` replies to replies."""

    mode: Mode = Mode.MESH
    per_minute: int = PER_MINUTE
    chain: int = CHAIN

    @classmethod
    def of(cls, stored: dict[str, Any]) -> "Settings":
        """Return what a team has stored, with defaults for the rest."""
        return cls(
            Mode(stored.get("mode", Mode.MESH)), int(stored.get("per_minute", PER_MINUTE)), int(stored.get("chain", CHAIN))
        )


@dataclass(frozen=True)
class Wait:
    """Why a team reads no messages now, and until when, in words: `the team is stopped`, `the team is resumed`."""

    why: str
    until: str


def team_wait(*, status: str, ended: bool, archived: bool) -> Wait | None:
    """Return why a team reads nothing now; None where it does."""
    if archived:
        return Wait("the team is archived", "the team is restored and works again")
    if ended:
        return Wait("the team has finished", "a task is reopened or added")
    return Wait("the team is stopped", "the team is resumed") if status == TeamStatus.STOPPED.value else None


def held_up(name: str, *, stopped: bool, team: Wait | None) -> str:
    """Return why a message to `name` waits for longer than its next step, in words; empty where nothing keeps it."""
    if stopped:
        return f"{name} is stopped: it is read when {name} works again"
    return f"{team.why}: it is read when {team.until}" if team else ""


def receipt(
    priority: str,
    *,
    delivered: dt.datetime | None,
    read: dt.datetime | None,
    answered: dt.datetime | None,
    acted: dt.datetime | None,
) -> Receipt:
    """Return the furthest that a message has come."""
    reached = ((acted, Receipt.ACTED), (answered, Receipt.ANSWERED), (read, Receipt.CONTEXT), (delivered, Receipt.HANDED))
    found = next((word for moment, word in reached if moment is not None), None)
    return found or (Receipt.PAGE if priority == Priority.STATUS else Receipt.QUEUED)


CHATTER: Final = re.compile(
    r"(?:(?:ok(?:ay)?|thanks?(?: you)?|thx|got it|noted|understood|acknowledged|ack|roger|will do|great|done|sounds good|on it|"
    r"working on it|still working|i am idle|idle|standing by|ready|[\U0001F44D\u2705\U0001F64F\U0001F389\U0001F44C])"
    r"(?:[\s.!,…;:–—-]+(?:and )?|$))+",
    re.IGNORECASE,
)
CHATTER_LIMIT: Final = 60
NOTIFICATION: Final = re.compile(r"(?:idle|shutdown|status|heartbeat|progress|ack)\w*", re.IGNORECASE)


def is_chatter(body: str) -> bool:
    """Whether a message only acknowledges or reports a state: a few set words, or a status notification in JSON."""
    if len(body) <= CHATTER_LIMIT and CHATTER.fullmatch(body):
        return True
    if not (body.startswith("{") and len(body) < 4_000):
        return False
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    kind = found.get("type") if isinstance(found, dict) else None
    return isinstance(kind, str) and bool(NOTIFICATION.fullmatch(kind))


def told(
    pk: str,
    sender: str,
    body: str,
    *,
    priority: str = "normal",
    everyone: bool = False,
    meant_for: str = "",
    no_reply: bool = False,
) -> str:
    """Return a message as its agent is given it. The first words are how the transcript is searched for it."""
    facts = (
        "urgent" if priority == Priority.INTERRUPT else "",
        "to everyone" if everyone else "",
        f"meant for {meant_for}: pass it on if it should reach them" if meant_for else "",
        "no reply wanted" if no_reply else "",
    )
    more = "".join(f", {fact}" for fact in facts if fact)
    return f"[message {pk} from {sender}{more}]\n{body}"


def _frame(body: str) -> dict[str, Any]:
    """Return what a frame of another tool says (a JSON object with a `type`), empty for any other text."""
    try:
        found = json.loads(body) if body.startswith("{") else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("type"), str) else {}


def frame_key(sender_id: int | None, to: str, body: str) -> str:
    """Return by what a frame with a time is known when it comes again; empty for any other text."""
    if not _frame(body).get("timestamp"):
        return ""
    return f"frame:{hashlib.sha256(json.dumps([sender_id, to.casefold(), body]).encode()).hexdigest()[:40]}"


def assigned(body: str) -> int | None:
    """Return the number of the task that the frame of an assignment names, None for any other text."""
    said = _frame(body)
    return parse_task_label(str(said.get("taskId", ""))) if said.get("type") == "task_assignment" else None
