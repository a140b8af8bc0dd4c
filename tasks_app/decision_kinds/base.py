"""What a kind of decision declares: its words, its checks, and what the agent is told. Services act on it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tasks_app.domain.asked import line

REPEAT = "[crewdesk:repeat {}]"
ANSWERED = "[crewdesk:answered {}]"


@dataclass(frozen=True)
class Given:
    """An answer as the lead gave it, before or after a kind has checked it."""

    choice: str
    note: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    who: str = "The lead"
    """Who speaks, where the agent is told of it: the human, or `The lead agent ada`."""
    handed: bool = False
    """Whether a process of the agent's had it before and ended: what it did with it is not known."""


@dataclass(frozen=True)
class Unanswered:
    """What becomes of a request that nobody answered in time; never consent. `choice`: what is chosen then, or nothing."""

    choice: str
    then: str  # said before: "times out in 5:48, then it is denied"
    meant: str  # said afterwards: "Timed out: it counts as denied"


class Kind(Protocol):
    """A module in this package: everything one kind of decision needs, without a table of its own."""

    CHOICES: Mapping[str, str]
    """The answers there are, each with the participle in which people read it: `allow` is `allowed once`."""
    GRANTS: frozenset[str]
    """Choices that let the asked call happen: after parking the agent must repeat it exactly, unless it may have been made."""
    STANDING: frozenset[str]
    """Choices that are kept elsewhere (a rule): the answer itself is spent as soon as the agent has been told."""

    UNANSWERED: Unanswered
    """What becomes of it when a timeout that was set has run out."""

    def title(self, payload: Mapping[str, Any], agent: str) -> str:
        """One line for lists and notifications."""

    def check(self, given: Given, payload: Mapping[str, Any]) -> Given:
        """Return the answer in its stored form; raises `Invalid` naming the field."""

    def tell(self, given: Given, payload: Mapping[str, Any]) -> str:
        """What the agent is told about the answer when it goes on after parking, in words."""


def asker(agent: str, subagent: str) -> str:
    """Return who asks, as titles say it: `ada`, or `ada’s sub-agent “Check the API”`."""
    return f"{agent}’s sub-agent “{line(subagent, 60)}”" if subagent else agent


def payload_hash(payload: Mapping[str, Any]) -> str:
    """Return the sha256 of the canonical JSON of what is shown: an answer names it, so nobody approves the unseen."""
    return hashlib.sha256(json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()).hexdigest()
